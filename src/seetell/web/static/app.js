// The page: shows the view of the URL and handles keys that work everywhere.

import { announce, byId, el } from "./dom.js";
import { loadTags } from "./filters.js";
import { shortcutsEnabled, showHelp } from "./help.js";
import * as models from "./models.js";
import * as photo from "./photo.js";
import * as progress from "./progress.js";
import { currentQuery, setNavigator } from "./router.js";
import * as search from "./search.js";
import * as upload from "./upload.js";

const searchView = byId("view-search");
const otherView = byId("view-other");
let latestView = 0; // grows with each change of view, so that late responses for an old one are dropped

function navigate(url, { replace = false } = {}) {
  const from = location.pathname === "/" ? "search" : history.state?.from;
  history[replace ? "replaceState" : "pushState"]({ from }, "", url);
  return render();
}

async function render() {
  const thisView = ++latestView;
  const isCurrent = () => thisView === latestView;
  const photoId = location.pathname.match(/^\/photo\/(\d+)$/)?.[1];
  const searching = location.pathname === "/";
  if (!searchView.hidden && !searching) {
    search.leave();
    otherView.replaceChildren(); // left over from before the search
  }
  if (photoId) search.opened(Number(photoId));
  searchView.hidden = !searching;
  otherView.hidden = searching;
  document
    .querySelectorAll("nav a")
    .forEach((link) => link.setAttribute("aria-current", link.pathname === location.pathname ? "page" : "false"));
  if (!photoId) photo.leave();
  if (searching) {
    await search.show();
    return;
  }
  otherView.setAttribute("aria-busy", "true");
  try {
    scrollTo(0, 0);
    if (photoId) await photo.show(otherView, Number(photoId), isCurrent);
    else await models.show(otherView, isCurrent);
  } catch (error) {
    if (isCurrent()) showError(error);
  } finally {
    if (isCurrent()) otherView.removeAttribute("aria-busy");
  }
}

function showError(error) {
  const link = el("a", { href: "/", "data-route": true }, "All photos");
  otherView.replaceChildren(el("div", { class: "empty" }, el("p", {}, error.message), el("p", {}, link)));
  announce(error.message);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[data-route]");
  const modified = event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (!link || event.defaultPrevented || modified) return;
  event.preventDefault();
  if (link.classList.contains("brand")) byId("q").value = "";
  navigate(link.pathname + link.search, { replace: link.hasAttribute("data-replace") });
});

addEventListener("popstate", () => {
  if (location.pathname === "/") byId("q").value = currentQuery().q;
  render();
});

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest?.("input, textarea, select, dialog");
  if (event.key === "Escape") {
    goBack(event.target, typing);
    return;
  }
  if (typing) return;
  const arrow = event.key.startsWith("Arrow");
  if (!arrow && !shortcutsEnabled()) return;
  if (event.key === "/") {
    event.preventDefault();
    byId("q").focus();
    byId("q").select();
  } else if (event.key === "?") showHelp();
  else if (
    location.pathname.startsWith("/photo/") &&
    photo.keys[event.key] &&
    !(arrow && event.target.closest?.(".grid, .words"))
  ) {
    event.preventDefault();
    photo.keys[event.key]();
  }
});

function goBack(target, typing) {
  if (target === byId("q") && byId("q").value) return; // the browser clears the box
  if (typing) target.blur();
  else if (location.pathname !== "/") {
    if (history.state?.from === "search") history.back();
    else navigate("/");
  }
}

byId("help").addEventListener("click", showHelp);
history.scrollRestoration = "manual";
setNavigator(navigate);
search.setUp();
upload.setUp();
progress.setUp(() => search.refresh());
loadTags();
render();
