// A caption and the attention behind it: the photo, words that highlight it, tags with confidence.

import { el, icon, percent } from "./dom.js";
import { isSpeaking, speak, stopSpeaking } from "./speech.js";

const DARKNESS = 0.78; // opacity of the overlay where there is no attention
const OVERLAY_WIDTH = 320; // pixels; the overlay is blurred anyway

/** A photo under an overlay that is transparent where the model attended. */
export class PhotoStage {
  constructor(source, alt, width, height) {
    this.image = el("img", {
      src: source,
      alt,
      decoding: "async",
      onload: () => this.setSize(this.image.naturalWidth, this.image.naturalHeight),
    });
    this.overlay = el("canvas", { class: "overlay", "aria-hidden": "true" });
    this.element = el("div", { class: "stage" }, this.image, this.overlay);
    if (width && height) this.setSize(width, height);
  }

  setSize(width, height) {
    this.ratio = width / height;
    this.element.style.setProperty("--ratio", this.ratio);
  }

  /** Show the attention of a word of a caption; without a word, the whole photo. */
  show(word, caption) {
    if (!word?.attention || !caption.grid_size) {
      this.overlay.classList.remove("visible");
      return;
    }
    this.overlay.width = OVERLAY_WIDTH;
    this.overlay.height = Math.max(1, Math.round(OVERLAY_WIDTH / (this.ratio || 1)));
    const { width, height } = this.overlay;
    const [left, top, right, bottom] = caption.box;
    const box = [left * width, top * height, (right - left) * width, (bottom - top) * height];
    const context = this.overlay.getContext("2d");
    context.fillStyle = `rgba(0, 0, 0, ${DARKNESS})`; // outside the box the model saw nothing
    context.fillRect(0, 0, width, height);
    context.clearRect(...box);
    context.imageSmoothingQuality = "high";
    context.drawImage(attentionGrid(word.attention, caption.grid_size), ...box);
    this.overlay.classList.add("visible");
  }
}

/** A canvas with one pixel per grid cell, darker where there is less attention. */
function attentionGrid(weights, size) {
  const grid = document.createElement("canvas");
  grid.width = grid.height = size;
  const context = grid.getContext("2d");
  const pixels = context.createImageData(size, size);
  weights.forEach((weight, cell) => {
    pixels.data[4 * cell + 3] = 255 * DARKNESS * (1 - weight ** 0.7); // the power keeps narrow attention visible
  });
  context.putImageData(pixels, 0, 0);
  return grid;
}

/** The words of a caption as buttons that show their attention on the stage: on hover, on focus, with the arrow keys.
 *  A click pins a word. */
export function captionWords(caption, stage) {
  const box = el("div", { class: "words", role: "group", "aria-label": "Words of the caption" });
  const note = el("p", { class: "note", "aria-live": "polite" });
  let pinned = -1;
  const buttons = caption.words.map((word, index) =>
    el(
      "button",
      {
        type: "button",
        class: word.space_before || index === 0 ? "word" : "word joined",
        tabindex: index === 0 ? 0 : -1,
        "aria-pressed": "false",
        "aria-label": word.attention ? `${word.text}: attention on ${regionName(word.region)}` : word.text,
        onpointerenter: () => highlight(index),
        onpointerleave: () => highlight(pinned),
        onfocus: () => highlight(index),
        onblur: () => highlight(pinned),
        onclick: () => pin(pinned === index ? -1 : index),
      },
      word.text,
    ),
  );
  const highlight = (index) => {
    buttons.forEach((button, each) => button.classList.toggle("highlighted", each === index));
    stage.show(caption.words[index], caption);
    note.textContent = wordNote(caption, caption.words[index]);
  };
  const pin = (index) => {
    pinned = index;
    buttons.forEach((button, each) => button.setAttribute("aria-pressed", String(each === index)));
    highlight(index);
  };
  box.addEventListener("keydown", (event) => moveBetweenWords(event, buttons, () => pinned >= 0 && (pin(-1), true)));
  if (caption.uncertain) box.append(el("span", { class: "word" }, "perhaps"));
  box.append(...buttons);
  note.textContent = wordNote(caption);
  // Spoken words are separated by spaces; a button may be only a part of one.
  const starts = caption.words.flatMap((word, index) => (word.space_before || index === 0 ? [index] : []));
  if (caption.uncertain) starts.unshift(-1);
  return { element: el("div", {}, box, note), highlightSpoken: (spoken) => highlight(starts[spoken] ?? -1) };
}

/** Key handler of the words: arrow keys, Home and End move the focus, Escape unpins. */
function moveBetweenWords(event, buttons, unpin) {
  const current = buttons.indexOf(document.activeElement);
  const target = { ArrowRight: current + 1, ArrowLeft: current - 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (event.key === "Escape") {
    if (!unpin()) return;
  } else if (target === undefined || current < 0) return;
  else if (buttons[target]) {
    buttons[current].tabIndex = -1;
    buttons[target].tabIndex = 0;
    buttons[target].focus();
  }
  event.preventDefault();
  event.stopPropagation();
}

/** The line below the words: about one of them, or how to use them. */
function wordNote(caption, word = null) {
  if (!word) {
    const warning = caption.uncertain ? "Low confidence: the photo may show something the model has not learned. " : "";
    return caption.has_attention
      ? `${warning}Point at a word, or move through them with the arrow keys, to see the model's attention.`
      : `${warning}This model has no attention to show.`;
  }
  return [
    word.attention ? `“${word.text}”: attention on ${regionName(word.region)}` : `“${word.text}”`,
    `word probability ${percent(word.probability)}`,
    word.gate === null ? null : `visual gate ${percent(word.gate)}`,
  ]
    .filter(Boolean)
    .join(" · ");
}

const regionName = (region) => (region === "everywhere" ? "the whole photo" : `the ${region}`);

/** A button that reads a caption aloud; `onWord` gets the index of each spoken word, -1 at the end. */
export function readAloudButton(text, onWord = null) {
  const label = el("span", {}, "Read aloud");
  const button = el(
    "button",
    { type: "button", class: "read", "aria-pressed": "false" },
    icon("M4 9.500v5h3.500L12 18.500v-13L7.500 9.500zM15.500 9a4 4 0 0 1 0 6M18 6.500a8 8 0 0 1 0 11"),
    label,
  );
  if (!("speechSynthesis" in window)) button.hidden = true;
  const onEnd = () => {
    button.setAttribute("aria-pressed", "false");
    label.textContent = "Read aloud";
    onWord?.(-1);
  };
  button.addEventListener("click", () => {
    if (isSpeaking()) {
      stopSpeaking();
      return;
    }
    button.setAttribute("aria-pressed", "true");
    label.textContent = "Stop";
    speak(text(), (index) => onWord?.(index), onEnd);
  });
  return button;
}

/** Tags as links to a search, with the model's confidence unless a person wrote them. */
export function tagList(tags, edited, onChoose) {
  if (!tags.length) return el("p", { class: "dim" }, "No tags.");
  const choose = (event, label) => {
    event.preventDefault();
    onChoose(label);
  };
  return el(
    "ul",
    { class: "tags" },
    tags.map(({ label, confidence }) =>
      el(
        "li",
        {},
        el("a", { href: `/?tag=${encodeURIComponent(label)}`, onclick: (event) => choose(event, label) }, label),
        edited
          ? el("span", { class: "confidence" }, "yours")
          : el(
              "span",
              { class: "confidence" },
              el("meter", { min: 0, max: 1, value: confidence.toFixed(3), "aria-label": `${label}: confidence` }),
              el("span", {}, percent(confidence)),
            ),
      ),
    ),
  );
}
