// The help dialog: keyboard shortcuts and less frequent actions.

import { el } from "./dom.js";
import { startUpdate } from "./progress.js";

const SHORTCUTS_OFF = "seetell-no-single-keys";

const SHORTCUTS = [
  ["/", "Focus the search box"],
  ["↓", "From the search box to the photos"],
  ["← → ↑ ↓", "Move between photos, or between the words of a caption"],
  ["Enter", "Open a photo"],
  ["← →", "On a photo's page: previous and next photo"],
  ["e", "Edit caption and tags (Ctrl+Enter saves)"],
  ["r", "Read aloud"],
  ["l", "More like this"],
  ["Esc", "Back"],
  ["?", "This help"],
];

/** Whether single-letter shortcuts are switched on. */
export const shortcutsEnabled = () => !localStorage.getItem(SHORTCUTS_OFF);

export function showHelp() {
  const dialog = el(
    "dialog",
    {
      class: "help",
      "aria-labelledby": "help-title",
      onclose: () => dialog.remove(),
      onclick: (event) => {
        if (event.target === dialog) dialog.close(); // a click on the backdrop
      },
    },
    el(
      "div",
      {},
      el("h2", { id: "help-title" }, "Keyboard shortcuts"),
      shortcutTable(),
      shortcutSwitch(),
      el("p", {}, "Drop or paste a photo anywhere to have it captioned and to search by it."),
      actions(() => dialog.close()),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}

function shortcutTable() {
  const rows = SHORTCUTS.map(([keys, meaning]) =>
    el(
      "tr",
      {},
      el(
        "th",
        { scope: "row" },
        keys.split(" ").map((key) => el("kbd", {}, key)),
      ),
      el("td", {}, meaning),
    ),
  );
  return el("table", {}, el("tbody", {}, rows));
}

function shortcutSwitch() {
  const box = el("input", { type: "checkbox", id: "shortcuts" });
  box.checked = shortcutsEnabled();
  box.addEventListener("change", () =>
    box.checked ? localStorage.removeItem(SHORTCUTS_OFF) : localStorage.setItem(SHORTCUTS_OFF, "1"),
  );
  return el("p", {}, box, el("label", { for: "shortcuts" }, " Single-letter shortcuts"));
}

function actions(close) {
  const update = () => {
    close();
    startUpdate();
  };
  return el(
    "p",
    { class: "actions" },
    el("button", { type: "button", onclick: update }, "Look for new photos"),
    el("a", { class: "button", href: "/api/v1/docs" }, "API"),
    el("button", { type: "button", class: "main", autofocus: true, onclick: close }, "Close"),
  );
}
