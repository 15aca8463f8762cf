// The search view: results while typing, and what to show when nothing matches.

import { get } from "./api.js";
import { card, moveFocus } from "./cards.js";
import { announce, byId, count, el, percent, toast } from "./dom.js";
import { filters, loadTags, showFilters } from "./filters.js";
import { isIndexing } from "./progress.js";
import { isSearchable, queryPhoto, showQueryPhoto } from "./query-photo.js";
import { currentQuery, navigate, searchUrl } from "./router.js";

const TYPING_PAUSE = 160; // milliseconds without a key before a search starts
const PAGE_SIZE = 60;

let shownFor = null; // the URL's query that the results on the page belong to
let latestRequest = 0; // only the response to the latest request counts
let pending = null; // aborts the request in progress
let timer = 0;
let results = [];
let latestResponse = null;
let showAll = false; // whether results that do not match are shown too
let lastOpened = 0;
let scrollPosition = 0;

const view = byId("view-search");
const input = byId("q");
const summary = el("h1", { class: "summary", tabindex: -1 });
const hints = el("div", { class: "hints" });
const grid = el("ul", { class: "grid", "aria-label": "Photos" });
const more = el("button", { type: "button", class: "more", hidden: true, onclick: () => load(true) }, "Show more");
view.append(filters, queryPhoto, summary, hints, grid, more);

export function setUp() {
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    searchForInput();
    if (matchMedia("(pointer: coarse)").matches) input.blur(); // closes the on-screen keyboard
  });
  input.addEventListener("input", (event) => {
    clearTimeout(timer);
    if (!event.isComposing) timer = setTimeout(searchForInput, TYPING_PAUSE);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && grid.firstChild) {
      event.preventDefault();
      grid.querySelector("a").focus();
    }
  });
  grid.addEventListener("keydown", moveFocus);
  new IntersectionObserver(
    (entries) => {
      if (entries[0].isIntersecting && !more.hidden) load(true);
    },
    { rootMargin: "600px" },
  ).observe(more);
}

function searchForInput() {
  const onSearchView = location.pathname === "/";
  const query = onSearchView ? currentQuery() : {};
  if (onSearchView && (query.q ?? "") === input.value) return;
  // Letters typed in a row are one entry of the history.
  navigate(searchUrl({ ...query, q: input.value }), { replace: onSearchView && Boolean(query.q) });
}

/** Show the search of the URL. */
export async function show() {
  const query = currentQuery();
  if (document.activeElement !== input) input.value = query.q;
  document.title = query.q ? `${query.q} · seetell` : "seetell";
  if (shownFor === location.search) {
    scrollTo(0, scrollPosition);
    focusCard(grid.querySelector(`a[data-id="${lastOpened}"]`));
    return;
  }
  showAll = isByPhoto(query); // the nearest photos were asked for, however near they are
  showFilters();
  showQueryPhoto();
  await load(false);
}

/** Called before another view is shown. */
export function leave() {
  scrollPosition = scrollY;
}

/** Called when a photo is opened: returning to the results returns to it. */
export function opened(id) {
  lastOpened = id;
}

const isByPhoto = (query) => Boolean((query.like || query.upload) && !query.q.trim());

const isRanked = (query) => Boolean(query.q.trim() || query.like || query.upload);

function focusCard(link) {
  if (!link) return;
  grid.querySelector("a[tabindex='0']")?.setAttribute("tabindex", "-1");
  link.tabIndex = 0;
  link.focus();
}

/** The photos before and after one in the results. */
export function neighbours(id) {
  const shown = visibleResults();
  const index = shown.findIndex((result) => result.id === id);
  return index < 0 ? {} : { previous: shown[index - 1], next: shown[index + 1] };
}

/** The library has changed: reload tags, and results unless the reader has scrolled down. */
export async function refresh() {
  await loadTags();
  if (location.pathname !== "/") {
    shownFor = null;
    return;
  }
  if (scrollY < 200 && !grid.contains(document.activeElement)) await load(false, true);
}

/** A photo was edited: show it in the results as it is now. */
export function updateResult(image) {
  const index = results.findIndex((result) => result.id === image.id);
  if (index >= 0) {
    results[index] = { ...results[index], ...image };
    draw();
  }
  loadTags();
}

// --- Loading

async function load(nextPage, quiet = false) {
  const request = ++latestRequest;
  const query = currentQuery();
  pending?.abort();
  pending = new AbortController();
  if (!isSearchable(query.upload)) {
    showNotSearchable();
    return;
  }
  more.hidden = true;
  if (!quiet) view.setAttribute("aria-busy", "true");
  try {
    const response = await get(`/search?${apiParameters(query, nextPage)}`, pending.signal);
    if (request !== latestRequest) return; // typing continued
    results = nextPage ? [...results, ...response.results] : response.results;
    shownFor = location.search;
    draw(response, nextPage);
    if (!quiet && !nextPage) announce(summary.textContent);
  } catch (error) {
    if (request !== latestRequest || error.name === "AbortError") return;
    if (nextPage || quiet) toast(error.message); // the results on the page stay
    else showError(error);
  } finally {
    if (request === latestRequest) view.removeAttribute("aria-busy");
  }
}

function apiParameters(query, nextPage) {
  const parameters = new URLSearchParams({ limit: PAGE_SIZE, offset: nextPage ? results.length : 0 });
  if (query.q.trim()) parameters.set("q", query.q);
  query.tags.forEach((tag) => parameters.append("tag", tag));
  query.excluded.forEach((tag) => parameters.append("not_tag", tag));
  if (query.like) parameters.set("like", query.like);
  if (query.upload) parameters.set("upload", query.upload);
  return parameters;
}

function showError(error) {
  results = [];
  shownFor = null;
  grid.replaceChildren();
  summary.textContent = "Something went wrong";
  hints.replaceChildren(el("p", { class: "empty" }, error.message));
  announce(error.message);
}

function showNotSearchable() {
  results = [];
  grid.replaceChildren();
  more.hidden = true;
  summary.textContent = "Your photo";
  hints.replaceChildren(el("p", { class: "dim" }, "This model captions photos but cannot search by them."));
  shownFor = location.search;
}

// --- Drawing

const visibleResults = () => (showAll ? results : results.filter((result) => result.matches));

function draw(response = latestResponse, append = false) {
  latestResponse = response;
  const query = currentQuery(shownFor ?? location.search); // the URL may be that of a photo
  const shown = visibleResults();
  const kept = append ? grid.children.length : 0;
  if (!append) grid.replaceChildren();
  grid.append(...shown.slice(kept).map((result, index) => card(result, isRanked(query), kept + index === 0)));
  summary.textContent = headline(query, shown, response);
  hints.replaceChildren(...hintsFor(query, shown, response));
  more.hidden = !response.has_more || shown.length < results.length;
}

function headline(query, shown, response) {
  const tags = [...query.tags, ...query.excluded.map((tag) => `no ${tag}`)].join(", ");
  const suffix = tags ? ` (${tags})` : "";
  if (!isRanked(query)) return `${count(response.total, "photo")}${tags ? `: ${tags}` : ""}`;
  const subject = query.q.trim() ? `“${query.q.trim()}”` : query.upload ? "your photo" : "this photo";
  if (!shown.length) return `No photo matches ${subject}${suffix}`;
  if (showAll) return isByPhoto(query) ? `Most similar to ${subject}${suffix}` : `Closest to ${subject}`;
  const plus = response.has_more && shown.length === results.length ? "+" : "";
  const verb = shown.length === 1 && !plus ? "photo matches" : "photos match";
  return `${shown.length}${plus} ${verb} ${subject}${suffix}`;
}

function hintsFor(query, shown, response) {
  const out = [];
  const filtered = query.tags.length || query.excluded.length;
  const unknown = response.unknown_words.join(", ");
  if (unknown) out.push(el("p", { class: "dim" }, `Unknown to the model and to every photo: ${unknown}.`));
  if (!isRanked(query) && !response.total && !filtered)
    out.push(
      el("div", { class: "empty" }, ...(isIndexing() ? ["The first photos will appear soon."] : gettingStarted())),
    );
  else if (!isRanked(query) && !shown.length) out.push(el("p", { class: "empty" }, "No photo has these tags."));
  const rest = results.filter((result) => !result.matches);
  if (isRanked(query) && !showAll && rest.length) out.push(restHint(shown, rest));
  return out;
}

function restHint(shown, rest) {
  const best = percent(rest[0].relevance || 0.001);
  return el(
    "p",
    { class: shown.length ? "dim" : "empty" },
    shown.length ? "" : `The closest photo has a ${best} probability of matching. `,
    el(
      "button",
      { type: "button", class: "link", onclick: showRest },
      shown.length ? "Show less likely photos too" : "Show the closest anyway",
    ),
  );
}

const gettingStarted = () => [
  el("p", {}, "There are no photos here yet."),
  el(
    "p",
    { class: "dim" },
    "Start with a folder: ",
    el("code", {}, "seetell serve FOLDER"),
    ". Or drop a photo here to have it captioned.",
  ),
];

function showRest() {
  showAll = true;
  draw();
  announce(summary.textContent);
  grid.querySelector("a")?.focus();
}
