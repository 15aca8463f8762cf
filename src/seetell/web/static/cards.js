// Photos as cards in a grid, with arrow key navigation.

import { copyUrl } from "./api.js";
import { altText, byId, el, percent } from "./dom.js";
import { photoUrl } from "./router.js";

/** Create a card. Only the first one of a grid is a tab stop; arrow keys move between them. */
export function card(image, showRelevance, first = false) {
  const relevance =
    showRelevance && image.relevance !== undefined
      ? el("span", { class: "confidence", title: "Probability of a match" }, percent(image.relevance))
      : null;
  return el(
    "li",
    {
      class: image.matches === false ? "faint" : null,
      style: { "--ratio": Math.min(2, Math.max(0.72, image.width / image.height)).toFixed(3) },
    },
    el(
      "a",
      { href: photoUrl(image.id), "data-route": true, dataset: { id: image.id }, tabindex: first ? 0 : -1 },
      el("img", {
        src: copyUrl(image, "thumbnail"),
        alt: altText(image),
        width: image.width,
        height: image.height,
        loading: "lazy",
        decoding: "async",
      }),
      el(
        "span",
        { class: "label", "aria-hidden": "true" },
        el("span", { class: "caption" }, altText(image)),
        relevance,
      ),
    ),
  );
}

/** Key handler of a grid: arrow keys, Home and End move the focus between cards. */
export function moveFocus(event) {
  const links = [...event.currentTarget.querySelectorAll("a")];
  const current = links.indexOf(document.activeElement);
  if (current < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  const target = {
    ArrowRight: current + 1,
    ArrowLeft: current - 1,
    ArrowDown: nearestInRow(links, current, 1),
    ArrowUp: nearestInRow(links, current, -1),
    Home: 0,
    End: links.length - 1,
  }[event.key];
  if (target === undefined) return;
  event.preventDefault();
  if (links[target]) {
    links[current].tabIndex = -1;
    links[target].tabIndex = 0;
    links[target].focus();
    links[target].scrollIntoView({ block: "nearest" });
  } else if (event.key === "ArrowUp") byId("q").focus();
}

/** Index of the horizontally nearest card one row below (1) or above (-1); -1 if there is none. */
function nearestInRow(links, current, step) {
  const boxes = links.map((link) => link.getBoundingClientRect());
  const rows = [...new Set(boxes.map((box) => Math.round(box.top)))].sort((a, b) => a - b);
  const row = rows[rows.indexOf(Math.round(boxes[current].top)) + step];
  const centre = (box) => box.left + box.width / 2;
  const distance = (index) => Math.abs(centre(boxes[index]) - centre(boxes[current]));
  const candidates = links.map((_, index) => index).filter((index) => Math.round(boxes[index].top) === row);
  return candidates.reduce((best, index) => (best < 0 || distance(index) < distance(best) ? index : best), -1);
}
