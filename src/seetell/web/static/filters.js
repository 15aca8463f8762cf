// Filters by tag: those that are chosen, the most frequent others, and a field for the rest.

import { get } from "./api.js";
import { count, el } from "./dom.js";
import { change, question } from "./route.js";

const SUGGESTED = 14;

export const filters = el("div", { class: "filters", role: "group", "aria-label": "Filter by tag" });
let allTags = [];

/** Ask which tags there are. */
export async function loadTags() {
  allTags = await get("/api/tags?limit=2000").catch(() => allTags);
  showFilters();
}

/** Draw the filters as the address has them. */
export function showFilters() {
  const now = question();
  if (
    filters.contains(document.activeElement) &&
    document.activeElement.tagName === "INPUT" &&
    document.activeElement.value
  )
    return;
  const had = document.activeElement?.dataset?.tag;
  const used = new Set([...now.tags, ...now.not]);
  const chosen = [...now.tags.map((tag) => [tag, true]), ...now.not.map((tag) => [tag, false])].map(([tag, wanted]) =>
    el(
      "span",
      { class: wanted ? "chip on" : "chip off" },
      el(
        "button",
        {
          type: "button",
          dataset: { tag },
          onclick: () => turn(tag, wanted),
          "aria-label": wanted ? `With ${tag}: change to without` : `Without ${tag}: change to with`,
          title: wanted ? "Change to: without" : "Change to: with",
        },
        wanted ? tag : `no ${tag}`,
      ),
      el(
        "button",
        {
          type: "button",
          class: "close",
          onclick: () => drop(tag),
          "aria-label": `Remove the filter ${wanted ? "" : "no "}${tag}`,
        },
        "×",
      ),
    ),
  );
  const offered = allTags
    .filter((tag) => !used.has(tag.label))
    .slice(0, SUGGESTED)
    .map((tag) =>
      el(
        "button",
        {
          type: "button",
          class: "chip",
          dataset: { tag: tag.label },
          onclick: () => add(tag.label),
          "aria-label": `Only with ${tag.label}, ${count(tag.images, "image")}`,
        },
        tag.label,
        el("small", {}, tag.images.toLocaleString("en")),
      ),
    );
  const rest =
    allTags.length > SUGGESTED
      ? [
          el("input", {
            class: "chip",
            list: "all-tags",
            placeholder: "more tags …",
            "aria-label": "Filter by another tag",
            onchange: (event) => {
              const found = allTags.find((tag) => tag.label.toLowerCase() === event.target.value.trim().toLowerCase());
              event.target.value = "";
              if (found) add(found.label);
            },
          }),
          el(
            "datalist",
            { id: "all-tags" },
            allTags.map((tag) => el("option", { value: tag.label })),
          ),
        ]
      : [];
  filters.replaceChildren(...chosen, ...offered, ...rest);
  filters.hidden = !chosen.length && !offered.length;
  if (had) [...filters.querySelectorAll("[data-tag]")].find((each) => each.dataset.tag === had)?.focus();
}

const add = (tag) => change({ tags: [...question().tags, tag] });

const drop = (tag) =>
  change({ tags: question().tags.filter((each) => each !== tag), not: question().not.filter((each) => each !== tag) });

function turn(tag, wanted) {
  const now = question();
  const without = { tags: now.tags.filter((each) => each !== tag), not: now.not.filter((each) => each !== tag) };
  change(wanted ? { ...without, not: [...without.not, tag] } : { ...without, tags: [...without.tags, tag] });
}
