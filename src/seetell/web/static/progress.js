// Progress of indexing, live. The connection is closed while the page is hidden.

import { EVENTS_URL, send } from "./api.js";
import { announce, byId, count, duration, el, toast } from "./dom.js";

const box = byId("progress");
let source = null;
let state = { status: "idle", revision: 0 };
let refreshTimer = 0;
let dismissed = false;

/** Follow indexing; `onChange` is called when the library's contents may have changed. */
export function setUp(onChange) {
  const connect = () => {
    source?.close();
    source = new EventSource(EVENTS_URL);
    source.addEventListener("progress", (event) => update(JSON.parse(event.data), onChange));
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden)
      source?.close(); // a browser allows six connections to a server, for all of its tabs
    else connect();
  });
  connect();
}

export const isIndexing = () => state.status === "indexing";

/** Ask the server to look for new photos. */
export async function startUpdate() {
  try {
    await send("POST", "/update");
  } catch (error) {
    toast(error.message);
  }
}

function update(next, onChange) {
  if ((next.revision !== state.revision || next.status !== state.status) && !refreshTimer) {
    refreshTimer = setTimeout(
      () => {
        refreshTimer = 0;
        onChange();
      },
      next.status === "indexing" ? 1500 : 50,
    );
  }
  if (next.status !== state.status) {
    dismissed = next.status === "done" && state.status !== "indexing"; // finished before this page was opened
    announce(message(next));
  }
  state = next;
  draw();
}

function message({ status, done, total, seconds_left: secondsLeft, note, error, ...last }) {
  if (status === "indexing") {
    if (!total) return "Scanning folders …";
    const left = secondsLeft === null || !done ? "" : `, ${duration(secondsLeft)} left`;
    return `Indexing: ${done.toLocaleString("en")} of ${count(total, "photo")}${left}${note ? `, ${note}` : ""}`;
  }
  if (status === "failed") return `Indexing failed: ${error}`;
  if (status === "done") {
    const parts = [
      last.new && count(last.new, "new photo"),
      last.removed && `${last.removed} removed`,
      last.problems.length && `${last.problems.length} could not be read`,
    ];
    return parts.filter(Boolean).join(", ") || "Everything is up to date";
  }
  return "";
}

function draw() {
  box.hidden = state.status === "idle" || dismissed;
  if (box.hidden) return;
  const bar = box.querySelector("progress");
  if (isIndexing() && bar) {
    bar.max = state.total || 1;
    if (state.total) bar.value = state.done;
    box.querySelector("p").textContent = message(state);
    return;
  }
  const text = el("p", {}, message(state));
  if (isIndexing()) {
    const value = state.total ? state.done : null;
    box.replaceChildren(el("progress", { max: state.total || 1, value, "aria-label": "Indexing" }), text);
  } else box.replaceChildren(text, ...problemList(), dismissButton());
}

function problemList() {
  if (!state.problems.length) return [];
  const items = state.problems.map((problem) => el("li", {}, `${problem.name}: ${problem.reason}`));
  return [el("details", {}, el("summary", {}, "Show details"), el("ul", {}, items))];
}

function dismissButton() {
  const onclick = () => {
    dismissed = true;
    draw();
  };
  return el("button", { type: "button", class: "quiet", "aria-label": "Hide this message", onclick }, "×");
}
