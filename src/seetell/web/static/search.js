// The search: a question and filters in the address, results as one types, and what to say when nothing matches.

import { get } from "./api.js";
import { address, alt, announce, byId, count, el, icon, percent, toast } from "./dom.js";
import { Stage, reader, tagList, words } from "./told.js";

const PAUSE = 160; // milliseconds without a key before the server is asked
const PAGE = 60;
const SUGGESTED = 14;

let go = () => {};
let shownFor = null; // the address that the results on the page belong to
let asked = 0; // only the answer to the last question counts
let under = null; // what ends the question under way
let timer = 0;
let rows = [];
let everything = false; // whether rows that do not match are shown, too
let lastOpened = 0;
let scroll = 0;
let allTags = [];
const looks = new Map(); // pictures that were shown: id → {look, source}

const view = byId("view-search");
const input = byId("q");
const filters = el("div", { class: "filters", role: "group", "aria-label": "Filter by tag" });
const subject = el("div");
const summary = el("h1", { class: "summary", tabindex: -1 });
const hints = el("div", { class: "hints" });
const grid = el("ul", { class: "grid", "aria-label": "Pictures" });
const more = el("button", { type: "button", class: "more", hidden: true, onclick: () => load(true) }, "Show more");
view.append(filters, subject, summary, hints, grid, more);

// --- the question, as the address has it

export function question(search = location.search) {
  const asks = new URLSearchParams(search);
  return {
    q: asks.get("q") ?? "",
    tags: asks.getAll("tag"),
    not: asks.getAll("not"),
    like: asks.get("like") ?? "",
    look: asks.get("look") ?? "",
  };
}

export function addressOf({ q = "", tags = [], not = [], like = "", look = "" }) {
  const asks = new URLSearchParams();
  if (q.trim()) asks.set("q", q);
  tags.forEach((tag) => asks.append("tag", tag));
  not.forEach((tag) => asks.append("not", tag));
  if (like) asks.set("like", like);
  if (look) asks.set("look", look);
  const text = asks.toString();
  return text ? `/?${text}` : "/";
}

const change = (part) => go(addressOf({ ...question(), ...part }));

// --- beginning

export function begin(navigate) {
  go = navigate;
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
  new IntersectionObserver((seen) => { if (seen[0].isIntersecting && !more.hidden) load(true); }, { rootMargin: "600px" }).observe(more);
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
  showFilters(now);
  showSubject(now);
  await load(false);
}

/** The results go out of sight. */
export function leave() {
  scroll = scrollY;
}

/** A picture is looked at: whoever comes back comes back to it. */
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

/** The pictures before and after one in the results. */
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
  showFilters(question());
  if (scrollY < 200 && !grid.contains(document.activeElement)) await load(false, true);
}

/** A picture was edited: the results show it as it is now. */
export function replaced(picture) {
  const at = rows.findIndex((row) => row.id === picture.id);
  if (at >= 0) {
    rows[at] = { ...rows[at], ...picture };
    draw();
  }
  loadTags();
}

export function remember(look, source) {
  const id = look.id || `only-${looks.size + 1}`;
  looks.set(id, { look, source });
  return id;
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
    if (further || quiet) { // what is there already stays
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
  summary.textContent = "A picture of yours";
  hints.replaceChildren(el("p", { class: "dim" }, "This bundle tells pictures, but cannot search by them."));
  shownFor = location.search;
}

// --- drawing

const visible = () => (everything ? rows : rows.filter((row) => row.matches));
let latest = null;

function draw(answer = latest, further = false) {
  latest = answer;
  const now = question();
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
  const what = now.q.trim() ? `“${now.q.trim()}”` : now.look ? "your picture" : "this picture";
  if (!asking) return `${count(answer.total, "picture")}${tagged ? `: ${tagged}` : ""}`;
  if (!shown.length) return `Nothing here matches ${what}${tagged ? ` (${tagged})` : ""}`;
  if (everything) return byLikeness(now) ? `Most like ${what}${tagged ? ` (${tagged})` : ""}` : `The nearest to ${what}`;
  return `${shown.length}${plus} ${shown.length === 1 && !plus ? "picture matches" : "pictures match"} ${what}${tagged ? ` (${tagged})` : ""}`;
}

function said(now, asking, shown, answer) {
  const out = [];
  if (answer.unknown.length) {
    out.push(el("p", { class: "dim" }, `Neither the model nor any picture here knows: ${answer.unknown.join(", ")}.`));
  }
  if (!asking && !answer.total && !now.tags.length && !now.not.length) {
    out.push(
      el("div", { class: "empty" },
        el("p", {}, "There are no pictures here yet."),
        el("p", { class: "dim" }, "Start with a folder: ", el("code", {}, "seetell serve FOLDER"), ". Or drop a picture here to have it told.")),
    );
  } else if (!asking && !shown.length) {
    out.push(el("p", { class: "empty" }, "No picture has these tags."));
  }
  const rest = rows.filter((row) => !row.matches);
  if (asking && !everything && rest.length) {
    const nearest = shown.length ? "" : `The nearest is ${percent(rest[0].relevance || 0.001)} likely to be what you asked for. `;
    out.push(
      el("p", { class: shown.length ? "dim" : "empty" }, nearest,
        el("button", { type: "button", class: "link", onclick: showAll }, shown.length ? "Show less likely ones, too" : "Show the nearest anyway")),
    );
  }
  return out;
}

function showAll() {
  everything = true;
  draw();
  announce(summary.textContent);
  grid.querySelector("a")?.focus();
}

export function card(row, asking, first = false) {
  const percentage = asking && row.relevance !== undefined ? el("span", { class: "sure", title: "How likely it is what you asked for" }, percent(row.relevance)) : null;
  return el(
    "li",
    { class: row.matches === false ? "faint" : null, style: { "--ratio": Math.min(2, Math.max(0.72, row.width / row.height)).toFixed(3) } },
    el(
      "a",
      { href: `/picture/${row.id}`, "data-route": true, dataset: { id: row.id }, tabindex: first ? 0 : -1 },
      el("img", { src: address(row, "thumbnail"), alt: alt(row), width: row.width, height: row.height, loading: "lazy", decoding: "async" }),
      el("span", { class: "under", "aria-hidden": "true" }, el("span", { class: "caption" }, alt(row)), percentage),
    ),
  );
}

/** The arrow keys walk over a grid of cards, row by row; only one of them is a stop for the tabulator. */
export function walk(event) {
  const links = [...event.currentTarget.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: beside(links, at, 1), ArrowUp: beside(links, at, -1), Home: 0, End: links.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  if (links[to]) {
    links[at].tabIndex = -1;
    links[to].tabIndex = 0;
    links[to].focus();
    links[to].scrollIntoView({ block: "nearest" });
  } else if (event.key === "ArrowUp" && event.currentTarget === grid) input.focus();
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

// --- filters

export async function loadTags() {
  allTags = await get("/api/tags?limit=2000").catch(() => allTags);
  showFilters(question());
}

function showFilters(now) {
  if (filters.contains(document.activeElement) && document.activeElement.tagName === "INPUT" && document.activeElement.value) return;
  const had = document.activeElement?.dataset?.tag;
  const used = new Set([...now.tags, ...now.not]);
  const chosen = [...now.tags.map((tag) => [tag, true]), ...now.not.map((tag) => [tag, false])].map(([tag, wanted]) =>
    el("span", { class: wanted ? "chip on" : "chip off" },
      el("button", { type: "button", dataset: { tag }, onclick: () => turn(tag, wanted), "aria-label": wanted ? `With ${tag}: change to without` : `Without ${tag}: change to with`, title: wanted ? "Change to: without" : "Change to: with" }, wanted ? tag : `no ${tag}`),
      el("button", { type: "button", class: "close", onclick: () => drop(tag), "aria-label": `Remove the filter ${wanted ? "" : "no "}${tag}` }, "×")),
  );
  const offered = allTags.filter((tag) => !used.has(tag.label)).slice(0, SUGGESTED).map((tag) =>
    el("button", { type: "button", class: "chip", dataset: { tag: tag.label }, onclick: () => add(tag.label), "aria-label": `Only with ${tag.label}, ${count(tag.pictures, "picture")}` },
      tag.label, el("small", {}, tag.pictures.toLocaleString("en"))),
  );
  const rest = allTags.length > SUGGESTED
    ? [el("input", { class: "chip", list: "all-tags", placeholder: "more tags …", "aria-label": "Filter by another tag", onchange: (event) => { const found = allTags.find((tag) => tag.label.toLowerCase() === event.target.value.trim().toLowerCase()); event.target.value = ""; if (found) add(found.label); } }),
       el("datalist", { id: "all-tags" }, allTags.map((tag) => el("option", { value: tag.label })))]
    : [];
  filters.replaceChildren(...chosen, ...offered, ...rest);
  filters.hidden = !chosen.length && !offered.length;
  if (had) [...filters.querySelectorAll("[data-tag]")].find((each) => each.dataset.tag === had)?.focus();
}

const add = (tag) => change({ tags: [...question().tags, tag] });

const drop = (tag) => change({ tags: question().tags.filter((each) => each !== tag), not: question().not.filter((each) => each !== tag) });

function turn(tag, wanted) {
  const now = question();
  const without = { tags: now.tags.filter((each) => each !== tag), not: now.not.filter((each) => each !== tag) };
  change(wanted ? { ...without, not: [...without.not, tag] } : { ...without, tags: [...without.tags, tag] });
}

// --- what is searched by: a picture of the library, or one that was shown

function showSubject(now) {
  const close = el("button", { type: "button", class: "quiet", onclick: () => change({ like: "", look: "" }), "aria-label": "Do not search by this picture" }, "×");
  if (now.look && looks.has(now.look)) subject.replaceChildren(lookedAt(looks.get(now.look), close));
  else if (now.look) subject.replaceChildren(el("div", { class: "subject" }, el("p", {}, "Pictures like the one you showed."), close));
  else if (now.like) {
    const box = el("div", { class: "subject small" }, el("p", {}, "More like this one"), close);
    subject.replaceChildren(box);
    get(`/api/pictures/${encodeURIComponent(now.like)}`).then((picture) => {
      box.prepend(el("a", { href: `/picture/${picture.id}`, "data-route": true }, el("img", { src: address(picture, "thumbnail"), alt: alt(picture), width: picture.width, height: picture.height })));
      box.querySelector("p").textContent = `More like this: ${alt(picture)}`;
    }, () => {});
  } else subject.replaceChildren();
}

function lookedAt({ look, source }, close) {
  const stage = new Stage(source, look.told.caption || "The picture you showed");
  const spoken = look.told.words.length ? words(look.told, stage) : null;
  const onTag = (event, label) => { event.preventDefault(); go(addressOf({ tags: [label] })); };
  return el("section", { class: "subject look", "aria-label": "The picture you showed" },
    stage.element,
    el("div", { class: "beside" },
      el("h2", { class: "hidden" }, look.told.caption || "The picture you showed"),
      spoken?.element,
      look.told.caption ? el("div", { class: "actions" }, reader(() => look.told.caption, spoken?.spoken),
        el("button", { type: "button", onclick: (event) => copy(event.currentTarget, look.told.caption) }, icon("M9 9h11v11H9zM5 15H4V4h11v1"), "Copy the caption")) : null,
      tagList(look.tags, false, onTag)),
    close);
}

async function copy(button, text) {
  await navigator.clipboard?.writeText(text).then(() => announce("Copied"), () => {});
  button.lastChild.textContent = "Copied";
}
