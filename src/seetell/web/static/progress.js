// How indexing goes, live; the connection rests while nobody looks at the page.

import { send } from "./api.js";
import { announce, byId, clock, count, el, toast } from "./dom.js";

const box = byId("progress");
let source = null;
let before = { state: "idle", change: 0 };
let waiting = 0;
let dismissed = false;

export function begin(changed) {
  const connect = () => {
    source?.close();
    source = new EventSource("/api/events");
    source.addEventListener("progress", (event) => tell(JSON.parse(event.data), changed));
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden)
      source?.close(); // a browser has six connections to a server, for all its pages
    else connect();
  });
  connect();
}

/** Whether images are being indexed. */
export const underWay = () => before.state === "indexing";

export async function lookForNew() {
  try {
    await send("POST", "/api/update");
  } catch (error) {
    toast(error.message);
  }
}

function tell(now, changed) {
  if ((now.change !== before.change || now.state !== before.state) && !waiting) {
    waiting = setTimeout(
      () => {
        waiting = 0;
        changed();
      },
      now.state === "indexing" ? 1500 : 50,
    );
  }
  if (now.state !== before.state) {
    dismissed = now.state === "done" && before.state !== "indexing"; // over before this page was opened
    announce(text(now));
  }
  before = now;
  draw(now);
}

function text(now) {
  if (now.state === "indexing") {
    if (!now.total) return "Looking through the folders …";
    const left = now.seconds_left === null || !now.done ? "" : `, ${clock(now.seconds_left)} left`;
    return `Indexing: ${now.done.toLocaleString("en")} of ${count(now.total, "image")}${left}${now.note ? `, ${now.note}` : ""}`;
  }
  if (now.state === "failed") return `Indexing stopped: ${now.problem}`;
  if (now.state === "done") {
    const parts = [
      now.new && `${count(now.new, "new image")}`,
      now.forgotten && `${now.forgotten} gone`,
      now.problems.length && `${now.problems.length} could not be read`,
    ];
    return parts.filter(Boolean).join(", ") || "Everything is up to date";
  }
  return "";
}

function draw(now) {
  box.hidden = now.state === "idle" || dismissed;
  if (box.hidden) return;
  const parts = [el("p", {}, text(now))];
  if (now.state === "indexing")
    parts.unshift(
      el("progress", { max: now.total || 1, value: now.total ? now.done : null, "aria-label": "Indexing" }),
    );
  else {
    if (now.problems.length) {
      parts.push(
        el(
          "details",
          {},
          el("summary", {}, "Which"),
          el(
            "ul",
            {},
            now.problems.map((each) => el("li", {}, `${each.name}: ${each.reason}`)),
          ),
        ),
      );
    }
    parts.push(
      el(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": "Hide this message",
          onclick: () => {
            dismissed = true;
            draw(before);
          },
        },
        "×",
      ),
    );
  }
  if (now.state === "indexing" && box.firstChild?.tagName === "PROGRESS") {
    box.firstChild.max = now.total || 1;
    if (now.total) box.firstChild.value = now.done;
    box.children[1].textContent = text(now);
  } else box.replaceChildren(...parts);
}
