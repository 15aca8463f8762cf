// The search: a question and filters in the address, results as one types, and what to say when nothing matches.

import { get } from "./api.js";
import { card, walk } from "./cards.js";
import { announce, byId, count, el, percent, toast } from "./dom.js";
import { filters, loadTags, showFilters } from "./filters.js";
import { underWay } from "./progress.js";
import { addressOf, go, question } from "./route.js";
import { showSubject, subject } from "./subject.js";

const PAUSE = 160; // milliseconds without a key before the server is asked
const PAGE = 60;

let shownFor = null; // the address that the results on the page belong to
let asked = 0; // only the answer to the last question counts
let under = null; // what ends the question under way
let timer = 0;
let rows = [];
let everything = false; // whether rows that do not match are shown, too
let lastOpened = 0;
let scroll = 0;

const view = byId("view-search");
const input = byId("q");
const summary = el("h1", { class: "summary", tabindex: -1 });
const hints = el("div", { class: "hints" });
const grid = el("ul", { class: "grid", "aria-label": "Images" });
const more = el("button", { type: "button", class: "more", hidden: true, onclick: () => load(true) }, "Show more");
view.append(filters, subject, summary, hints, grid, more);

export function begin() {
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    ask();
    if (matchMedia("(pointer: coarse)").matches) input.blur(); // lets the keyboard of a telephone go
  });
  input.addEventListener("input", (event) => {
    clearTimeout(timer);
    if (!event.isComposing) timer = setTimeout(ask, PAUSE);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && grid.firstChild) {
      event.preventDefault();
      grid.querySelector("a").focus();
    }
  });
  grid.addEventListener("keydown", walk);
  new IntersectionObserver(
    (seen) => {
      if (seen[0].isIntersecting && !more.hidden) load(true);
    },
    { rootMargin: "600px" },
  ).observe(more);
}

function ask() {
  const here = location.pathname === "/";
  const now = here ? question() : {};
  if (here && (now.q ?? "") === input.value) return;
  // Letters typed one after another are one step back, not many.
  go(addressOf({ ...now, q: input.value }), { replace: here && Boolean(now.q) });
}

/** Show what the address asks for. */
export async function show() {
  const now = question();
  if (document.activeElement !== input) input.value = now.q;
  document.title = now.q ? `${now.q} · seetell` : "seetell";
  if (shownFor === location.search) {
    scrollTo(0, scroll);
    focusOn(grid.querySelector(`a[data-id="${lastOpened}"]`));
    return;
  }
  everything = byLikeness(now); // the nearest are what was asked for, however near they are
  showFilters();
  showSubject();
  await load(false);
}

/** The results go out of sight. */
export function leave() {
  scroll = scrollY;
}

/** An image is looked at: whoever comes back comes back to it. */
export function opened(id) {
  lastOpened = id;
}

const byLikeness = (now) => Boolean((now.like || now.look) && !now.q.trim());

function focusOn(link) {
  if (!link) return;
  grid.querySelector("a[tabindex='0']")?.setAttribute("tabindex", "-1");
  link.tabIndex = 0;
  link.focus();
}

/** The images before and after one in the results. */
export function around(id) {
  const shown = visible();
  const at = shown.findIndex((row) => row.id === id);
  return at < 0 ? {} : { before: shown[at - 1], after: shown[at + 1] };
}

/** The library has changed: tags anew, and results, unless somebody is reading further down. */
export async function refresh() {
  await loadTags();
  if (location.pathname !== "/") {
    shownFor = null;
    return;
  }
  if (scrollY < 200 && !grid.contains(document.activeElement)) await load(false, true);
}

/** An image was edited: the results show it as it is now. */
export function replaced(image) {
  const at = rows.findIndex((row) => row.id === image.id);
  if (at >= 0) {
    rows[at] = { ...rows[at], ...image };
    draw();
  }
  loadTags();
}

// --- asking the server

async function load(further, quiet = false) {
  const mine = ++asked;
  const now = question();
  under?.abort();
  under = new AbortController();
  if (now.look.startsWith("only-")) return nothingToSearch();
  const asks = new URLSearchParams({ limit: PAGE, offset: further ? rows.length : 0 });
  if (now.q.trim()) asks.set("q", now.q);
  now.tags.forEach((tag) => asks.append("tag", tag));
  now.not.forEach((tag) => asks.append("not_tag", tag));
  if (now.like) asks.set("like", now.like);
  if (now.look) asks.set("look", now.look);
  more.hidden = true;
  if (!quiet) view.setAttribute("aria-busy", "true");
  try {
    const answer = await get(`/api/search?${asks}`, under.signal);
    if (mine !== asked) return; // somebody has typed on
    rows = further ? [...rows, ...answer.rows] : answer.rows;
    shownFor = location.search;
    draw(answer, further);
    if (!quiet && !further) announce(summary.textContent);
  } catch (error) {
    if (mine !== asked || error.name === "AbortError") return;
    if (further || quiet) {
      // what is there already stays
      toast(error.message);
      return;
    }
    rows = [];
    shownFor = null;
    grid.replaceChildren();
    summary.textContent = "That did not work";
    hints.replaceChildren(el("p", { class: "empty" }, error.message));
    announce(error.message);
  } finally {
    if (mine === asked) view.removeAttribute("aria-busy");
  }
}

function nothingToSearch() {
  rows = [];
  grid.replaceChildren();
  more.hidden = true;
  summary.textContent = "An image of yours";
  hints.replaceChildren(el("p", { class: "dim" }, "This bundle tells images, but cannot search by them."));
  shownFor = location.search;
}

// --- drawing

const visible = () => (everything ? rows : rows.filter((row) => row.matches));
let latest = null;

function draw(answer = latest, further = false) {
  latest = answer;
  const now = question(shownFor ?? location.search); // an image's page may be in front
  const asking = Boolean(now.q.trim() || now.like || now.look);
  const shown = visible();
  const keep = further ? grid.children.length : 0;
  if (!further) grid.replaceChildren();
  grid.append(...shown.slice(keep).map((row, place) => card(row, asking, keep + place === 0)));
  summary.textContent = headline(now, asking, shown, answer);
  hints.replaceChildren(...said(now, asking, shown, answer));
  more.hidden = !answer.more || shown.length < rows.length;
}

function headline(now, asking, shown, answer) {
  const tagged = [...now.tags, ...now.not.map((tag) => `no ${tag}`)].join(", ");
  const plus = answer.more && shown.length === rows.length ? "+" : "";
  const what = now.q.trim() ? `“${now.q.trim()}”` : now.look ? "your image" : "this image";
  if (!asking) return `${count(answer.total, "image")}${tagged ? `: ${tagged}` : ""}`;
  if (!shown.length) return `Nothing here matches ${what}${tagged ? ` (${tagged})` : ""}`;
  if (everything)
    return byLikeness(now) ? `Most like ${what}${tagged ? ` (${tagged})` : ""}` : `The nearest to ${what}`;
  return `${shown.length}${plus} ${shown.length === 1 && !plus ? "image matches" : "images match"} ${what}${tagged ? ` (${tagged})` : ""}`;
}

function said(now, asking, shown, answer) {
  const out = [];
  if (answer.unknown.length) {
    out.push(el("p", { class: "dim" }, `Neither the model nor any image here knows: ${answer.unknown.join(", ")}.`));
  }
  if (!asking && !answer.total && !now.tags.length && !now.not.length) {
    out.push(el("div", { class: "empty" }, ...(underWay() ? ["The first images come in a moment."] : warm_start())));
  } else if (!asking && !shown.length) {
    out.push(el("p", { class: "empty" }, "No image has these tags."));
  }
  const rest = rows.filter((row) => !row.matches);
  if (asking && !everything && rest.length) {
    const nearest = shown.length
      ? ""
      : `The nearest is ${percent(rest[0].relevance || 0.001)} likely to be what you asked for. `;
    out.push(
      el(
        "p",
        { class: shown.length ? "dim" : "empty" },
        nearest,
        el(
          "button",
          { type: "button", class: "link", onclick: showAll },
          shown.length ? "Show less likely ones, too" : "Show the nearest anyway",
        ),
      ),
    );
  }
  return out;
}

const warm_start = () => [
  el("p", {}, "There are no images here yet."),
  el(
    "p",
    { class: "dim" },
    "Start with a folder: ",
    el("code", {}, "seetell serve FOLDER"),
    ". Or drop an image here to have it told.",
  ),
];

function showAll() {
  everything = true;
  draw();
  announce(summary.textContent);
  grid.querySelector("a")?.focus();
}
