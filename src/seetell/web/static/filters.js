// Filters by tag: the chosen ones, the most frequent others, and a field for the rest.

import { get } from "./api.js";
import { count, el } from "./dom.js";
import { changeQuery, currentQuery } from "./router.js";

const SUGGESTIONS = 14;

export const filters = el("div", { class: "filters", role: "group", "aria-label": "Filter by tag" });
let allTags = [];

/** Load the library's tags. */
export async function loadTags() {
  allTags = await get("/tags?limit=2000").catch(() => allTags);
  showFilters();
}

/** Show the filters of the URL and suggest others. */
export function showFilters() {
  const { tags, excluded } = currentQuery();
  const active = document.activeElement;
  if (filters.contains(active) && active.tagName === "INPUT" && active.value) return; // do not disturb typing
  const focused = active?.dataset?.tag;
  const used = new Set([...tags, ...excluded]);
  const chosen = [...tags.map((tag) => chosenFilter(tag, true)), ...excluded.map((tag) => chosenFilter(tag, false))];
  const suggested = allTags
    .filter((tag) => !used.has(tag.label))
    .slice(0, SUGGESTIONS)
    .map(suggestedFilter);
  filters.replaceChildren(...chosen, ...suggested, ...(allTags.length > SUGGESTIONS ? otherTagField() : []));
  filters.hidden = !chosen.length && !suggested.length;
  if (focused) [...filters.querySelectorAll("[data-tag]")].find((each) => each.dataset.tag === focused)?.focus();
}

function chosenFilter(tag, included) {
  return el(
    "span",
    { class: included ? "chip on" : "chip off" },
    el(
      "button",
      {
        type: "button",
        dataset: { tag },
        onclick: () => toggle(tag, included),
        "aria-label": included ? `With ${tag}: change to without` : `Without ${tag}: change to with`,
        title: included ? "Change to: without" : "Change to: with",
      },
      included ? tag : `no ${tag}`,
    ),
    el(
      "button",
      {
        type: "button",
        class: "close",
        onclick: () => changeQuery(without(tag)),
        "aria-label": `Remove the filter ${included ? "" : "no "}${tag}`,
      },
      "×",
    ),
  );
}

function suggestedFilter(tag) {
  return el(
    "button",
    {
      type: "button",
      class: "chip",
      dataset: { tag: tag.label },
      onclick: () => include(tag.label),
      "aria-label": `Only with ${tag.label}, ${count(tag.images, "photo")}`,
    },
    tag.label,
    el("small", {}, tag.images.toLocaleString("en")),
  );
}

function otherTagField() {
  const onchange = (event) => {
    const found = allTags.find((tag) => tag.label.toLowerCase() === event.target.value.trim().toLowerCase());
    event.target.value = "";
    if (found) include(found.label);
  };
  return [
    el("input", {
      class: "chip",
      list: "all-tags",
      placeholder: "More tags …",
      "aria-label": "Filter by another tag",
      onchange,
    }),
    el(
      "datalist",
      { id: "all-tags" },
      allTags.map((tag) => el("option", { value: tag.label })),
    ),
  ];
}

function without(tag) {
  const { tags, excluded } = currentQuery();
  return { tags: tags.filter((each) => each !== tag), excluded: excluded.filter((each) => each !== tag) };
}

const include = (tag) => changeQuery({ tags: [...currentQuery().tags, tag] });

function toggle(tag, included) {
  const rest = without(tag);
  changeQuery(included ? { ...rest, excluded: [...rest.excluded, tag] } : { ...rest, tags: [...rest.tags, tag] });
}
