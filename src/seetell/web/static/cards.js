// Images as cards in a grid, and the arrow keys that walk over it.

import { address, alt, byId, el, percent } from "./dom.js";

export function card(row, asking, first = false) {
  const percentage =
    asking && row.relevance !== undefined
      ? el("span", { class: "sure", title: "How likely it is what you asked for" }, percent(row.relevance))
      : null;
  return el(
    "li",
    {
      class: row.matches === false ? "faint" : null,
      style: { "--ratio": Math.min(2, Math.max(0.72, row.width / row.height)).toFixed(3) },
    },
    el(
      "a",
      { href: `/image/${row.id}`, "data-route": true, dataset: { id: row.id }, tabindex: first ? 0 : -1 },
      el("img", {
        src: address(row, "thumbnail"),
        alt: alt(row),
        width: row.width,
        height: row.height,
        loading: "lazy",
        decoding: "async",
      }),
      el("span", { class: "under", "aria-hidden": "true" }, el("span", { class: "caption" }, alt(row)), percentage),
    ),
  );
}

/** The arrow keys walk over a grid of cards, row by row; only one of them is a stop for the tabulator. */
export function walk(event) {
  const links = [...event.currentTarget.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  const to = {
    ArrowRight: at + 1,
    ArrowLeft: at - 1,
    ArrowDown: beside(links, at, 1),
    ArrowUp: beside(links, at, -1),
    Home: 0,
    End: links.length - 1,
  }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  if (links[to]) {
    links[at].tabIndex = -1;
    links[to].tabIndex = 0;
    links[to].focus();
    links[to].scrollIntoView({ block: "nearest" });
  } else if (event.key === "ArrowUp") byId("q").focus();
}

/** The card below (1) or above (-1) one, whose middle is nearest; -1 if there is none. */
function beside(links, at, way) {
  const places = links.map((link) => link.getBoundingClientRect());
  const rows = [...new Set(places.map((place) => Math.round(place.top)))].sort((a, b) => a - b);
  const row = rows[rows.indexOf(Math.round(places[at].top)) + way];
  const away = (place) => Math.abs(place.left + place.width / 2 - places[at].left - places[at].width / 2);
  const found = links.map((_, each) => each).filter((each) => Math.round(places[each].top) === row);
  return found.length ? found.reduce((best, each) => (away(places[each]) < away(places[best]) ? each : best)) : -1;
}
