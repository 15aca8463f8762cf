// The page: which view the address asks for, keys that work everywhere, help.

import * as bundles from "./models.js";
import { announce, byId, el } from "./dom.js";
import { loadTags } from "./filters.js";
import * as image from "./image.js";
import * as progress from "./progress.js";
import { leads, question } from "./route.js";
import * as search from "./search.js";
import * as upload from "./upload.js";

const other = byId("view-other");
const results = byId("view-search");
const OFF = "seetell-no-single-keys";
let turn = 0; // grows with each change of view, so that answers to an old one are dropped

function go(to, { replace = false } = {}) {
  const from = location.pathname === "/" ? "search" : history.state?.from;
  history[replace ? "replaceState" : "pushState"]({ from }, "", to);
  return render();
}

async function render() {
  const mine = ++turn;
  const alive = () => mine === turn;
  const number = location.pathname.match(/^\/image\/(\d+)$/)?.[1];
  const searching = location.pathname === "/";
  if (!results.hidden && !searching) {
    search.leave();
    other.replaceChildren(); // what was there before the results is not what comes now
  }
  if (number) search.opened(Number(number));
  results.hidden = !searching;
  other.hidden = searching;
  document
    .querySelectorAll("nav a")
    .forEach((link) => link.setAttribute("aria-current", link.pathname === location.pathname ? "page" : "false"));
  if (!number) image.leave();
  if (searching) return search.show();
  other.setAttribute("aria-busy", "true");
  try {
    scrollTo(0, 0);
    if (number) await image.show(other, Number(number), alive);
    else await bundles.show(other, alive);
  } catch (error) {
    if (alive()) {
      other.replaceChildren(
        el(
          "div",
          { class: "empty" },
          el("p", {}, error.message),
          el("p", {}, el("a", { href: "/", "data-route": true }, "All images")),
        ),
      );
      announce(error.message);
    }
  } finally {
    if (alive()) other.removeAttribute("aria-busy");
  }
  return undefined;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-route]");
  if (
    !link ||
    event.defaultPrevented ||
    event.button ||
    event.ctrlKey ||
    event.metaKey ||
    event.shiftKey ||
    event.altKey
  )
    return;
  event.preventDefault();
  if (link.classList.contains("brand")) byId("q").value = "";
  go(link.pathname + link.search, { replace: link.hasAttribute("data-replace") });
});

addEventListener("popstate", () => {
  if (location.pathname === "/") byId("q").value = question().q;
  render();
});

// --- keys

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest?.("input, textarea, select, dialog");
  if (event.key === "Escape") {
    if (event.target === byId("q") && byId("q").value) return; // the browser clears it
    if (typing) event.target.blur();
    else if (location.pathname !== "/") {
      if (history.state?.from === "search") history.back();
      else go("/");
    }
    return;
  }
  if (typing) return;
  const arrows = event.key.startsWith("Arrow");
  if (!arrows && localStorage.getItem(OFF)) return;
  if (event.key === "/") {
    event.preventDefault();
    byId("q").focus();
    byId("q").select();
  } else if (event.key === "?") help();
  else if (
    location.pathname.startsWith("/image/") &&
    image.keys[event.key] &&
    !(arrows && event.target.closest?.(".grid, .words"))
  ) {
    event.preventDefault();
    image.keys[event.key]();
  }
});

// --- help

const KEYS = [
  ["/", "go to the search box"],
  ["↓", "from the search box to the images"],
  ["← → ↑ ↓", "walk over the images, or the words of a caption"],
  ["Enter", "open an image"],
  ["← →", "on an image's page: the one before, the next"],
  ["e", "edit caption and tags (Ctrl+Enter saves)"],
  ["r", "read aloud"],
  ["l", "more like this"],
  ["Esc", "back"],
  ["?", "this help"],
];

function help() {
  const single = el("input", { type: "checkbox", id: "single" });
  single.checked = !localStorage.getItem(OFF);
  single.addEventListener("change", () =>
    single.checked ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "1"),
  );
  const dialog = el(
    "dialog",
    {
      class: "help",
      "aria-labelledby": "help-title",
      onclose: () => dialog.remove(),
      onclick: (event) => {
        if (event.target === dialog) dialog.close();
      },
    },
    el(
      "div",
      {},
      el("h2", { id: "help-title" }, "Keys"),
      el(
        "table",
        {},
        el(
          "tbody",
          {},
          KEYS.map(([key, what]) =>
            el(
              "tr",
              {},
              el(
                "th",
                { scope: "row" },
                key.split(" ").map((each) => el("kbd", {}, each)),
              ),
              el("td", {}, what),
            ),
          ),
        ),
      ),
      el("p", {}, single, el("label", { for: "single" }, " Single letters are keys")),
      el("p", {}, "Drop an image anywhere, or paste one, to have it told and to search by it."),
      el(
        "p",
        { class: "actions" },
        el(
          "button",
          {
            type: "button",
            onclick: () => {
              dialog.close();
              progress.lookForNew();
            },
          },
          "Look for new images",
        ),
        el("a", { class: "button", href: "/api/docs" }, "API"),
        el("button", { type: "button", class: "main", autofocus: true, onclick: () => dialog.close() }, "Close"),
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}

byId("help").addEventListener("click", help);
history.scrollRestoration = "manual";
leads(go);
search.begin();
upload.begin();
progress.begin(() => search.refresh());
loadTags();
render();
