// What was told of an image: the image as a stage, the words that light it, tags with how sure the model is.

import { el, icon, percent } from "./dom.js";
import { speak, speaking, stopSpeaking } from "./speech.js";

const DARK = 0.78; // how dark a place is that was not looked at
const WIDE = 320; // pixels of the veil, which is blurred anyway

/** The image, and a veil over it that is thin where the model looked. */
export class Stage {
  constructor(source, alt, width, height) {
    this.image = el("img", {
      src: source,
      alt,
      decoding: "async",
      onload: () => this.fit(this.image.naturalWidth, this.image.naturalHeight),
    });
    this.veil = el("canvas", { class: "veil", "aria-hidden": "true" });
    this.element = el("div", { class: "stage" }, this.image, this.veil);
    if (width && height) this.fit(width, height);
  }

  fit(width, height) {
    this.ratio = width / height;
    this.element.style.setProperty("--ratio", this.ratio);
  }

  light(word, told) {
    if (!word?.light || !told.side) {
      this.veil.classList.remove("lit");
      return;
    }
    const grid = document.createElement("canvas");
    grid.width = grid.height = told.side;
    const small = grid.getContext("2d");
    const cells = small.createImageData(told.side, told.side);
    word.light.forEach((value, place) => {
      cells.data[4 * place + 3] = 255 * DARK * (1 - value ** 0.7);
    }); // so that a narrow light is seen, too
    small.putImageData(cells, 0, 0);
    this.veil.width = WIDE;
    this.veil.height = Math.max(1, Math.round(WIDE / (this.ratio || 1)));
    const [left, top, right, bottom] = told.box;
    const [x, y] = [left * this.veil.width, top * this.veil.height];
    const [w, h] = [(right - left) * this.veil.width, (bottom - top) * this.veil.height];
    const all = this.veil.getContext("2d");
    all.fillStyle = `rgba(0, 0, 0, ${DARK})`; // what the model did not see is dark
    all.fillRect(0, 0, this.veil.width, this.veil.height);
    all.clearRect(x, y, w, h);
    all.imageSmoothingQuality = "high";
    all.drawImage(grid, x, y, w, h);
    this.veil.classList.add("lit");
  }
}

/** The words of a caption, each a button that lights the stage: by pointer, by focus, by the arrow keys. A click holds
 *  the light. */
export function words(told, stage) {
  const box = el("div", { class: "words", role: "group", "aria-label": "Words of the caption" });
  const note = el("p", { class: "note", "aria-live": "polite" });
  const doubt = told.uncertain ? "The model is unsure: the image may show what it never saw. " : "";
  const hint = told.attention
    ? `${doubt}Point at a word, or walk through them with the arrow keys, to see where the model looked.`
    : `${doubt}This model does not say where it looked.`;
  let held = -1;
  const buttons = told.words.map((word, place) =>
    el(
      "button",
      {
        type: "button",
        class: word.space || place === 0 ? "word" : "word joined",
        tabindex: place === 0 ? 0 : -1,
        "aria-pressed": "false",
        "aria-label": word.light ? `${word.text}: looked at ${placeOf(word.where)}` : word.text,
        onpointerenter: () => show(place),
        onpointerleave: () => show(held),
        onfocus: () => show(place),
        onblur: () => show(held),
        onclick: () => hold(held === place ? -1 : place),
      },
      word.text,
    ),
  );
  const say = (place) => {
    const word = told.words[place];
    note.textContent = word
      ? [
          word.light ? `“${word.text}”: looked at ${placeOf(word.where)}` : `“${word.text}”`,
          `${percent(word.probability)} sure of the word`,
          word.gate === null ? null : `gate ${percent(word.gate)}`,
        ]
          .filter(Boolean)
          .join(" · ")
      : hint;
  };
  const show = (place) => {
    buttons.forEach((button, each) => button.classList.toggle("lit", each === place));
    stage.light(told.words[place], told);
    say(place);
  };
  const hold = (place) => {
    held = place;
    buttons.forEach((button, each) => button.setAttribute("aria-pressed", String(each === place)));
    show(place);
  };
  box.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (event.key === "Escape" && held >= 0) hold(-1);
    else if (to === undefined || at < 0) return;
    else if (buttons[to]) {
      buttons[at].tabIndex = -1;
      buttons[to].tabIndex = 0;
      buttons[to].focus();
    }
    event.preventDefault();
    event.stopPropagation();
  });
  if (told.uncertain) box.append(el("span", { class: "word" }, "perhaps"));
  box.append(...buttons);
  say(-1);
  const starts = told.uncertain ? [-1] : [];
  starts.push(...told.words.flatMap((word, place) => (word.space || place === 0 ? [place] : [])));
  return { element: el("div", {}, box, note), spoken: (number) => show(starts[number] ?? -1) };
}

const placeOf = (where) => (where === "all over" ? "the whole image" : `the ${where}`);

/** A button that reads a caption aloud, and lights each word as it is spoken. */
export function reader(text, lit = null) {
  const label = el("span", {}, "Read aloud");
  const button = el(
    "button",
    { type: "button", class: "read", "aria-pressed": "false" },
    icon("M4 9.500v5h3.500L12 18.500v-13L7.500 9.500zM15.500 9a4 4 0 0 1 0 6M18 6.500a8 8 0 0 1 0 11"),
    label,
  );
  if (!("speechSynthesis" in window)) button.hidden = true;
  const done = () => {
    button.setAttribute("aria-pressed", "false");
    label.textContent = "Read aloud";
    lit?.(-1);
  };
  button.addEventListener("click", () => {
    if (speaking()) return stopSpeaking();
    button.setAttribute("aria-pressed", "true");
    label.textContent = "Stop";
    return speak(text(), (place) => lit?.(place), done);
  });
  return button;
}

/** Tags as links to a search, with how sure the model is. */
export function tagList(tags, byPerson, go) {
  if (!tags.length) return el("p", { class: "dim" }, "No tags.");
  return el(
    "ul",
    { class: "tags" },
    tags.map((tag) =>
      el(
        "li",
        {},
        el(
          "a",
          { href: `/?tag=${encodeURIComponent(tag.label)}`, onclick: (event) => go(event, tag.label) },
          tag.label,
        ),
        byPerson
          ? el("span", { class: "sure" }, "yours")
          : el(
              "span",
              { class: "sure" },
              el("meter", { min: 0, max: 1, value: tag.confidence.toFixed(3), "aria-label": `${tag.label}: how sure` }),
              el("span", {}, percent(tag.confidence)),
            ),
      ),
    ),
  );
}
