// The page of a photo: caption with attention, tags, editing, file details, similar photos.

import { copyUrl, get, originalUrl, send } from "./api.js";
import { PhotoStage, captionWords, readAloudButton, tagList } from "./attention.js";
import { card, moveFocus } from "./cards.js";
import { altText, announce, el, fileSize, icon, toast } from "./dom.js";
import { navigate, photoUrl, searchUrl } from "./router.js";
import { neighbours, updateResult } from "./search.js";
import { stopSpeaking } from "./speech.js";

const EDIT_ICON = "M4 20l1-4L16.500 4.500l3 3L8 19z";
const SIMILAR_ICON = "M4 5h7v7H4zM13 12h7v7h-7zM15 5h5v4M9 19H4v-4";
const SAVE_ICON = "M12 4v11m0 0 4-4m-4 4-4-4M5 19h14";
const PREVIOUS_ICON = "M15 5l-7 7 7 7";
const NEXT_ICON = "M9 5l7 7-7 7";

let current = null; // the page that the keys act on

/** Keyboard shortcuts. */
export const keys = {
  e: () => current?.edit(),
  r: () => current?.element.querySelector(".read")?.click(),
  l: () => current?.element.querySelector("a.similar-link")?.click(),
  ArrowLeft: () => current?.element.querySelector("a.previous")?.click(),
  ArrowRight: () => current?.element.querySelector("a.next")?.click(),
};

/** Show a photo; `isCurrent` tells whether this view is still wanted. */
export async function show(view, id, isCurrent) {
  stopSpeaking();
  current = null;
  view.firstElementChild?.setAttribute("inert", ""); // the previous photo cannot be edited while this one loads
  const image = await get(`/images/${id}`);
  if (!isCurrent()) return;
  const page = new PhotoPage(image);
  current = page;
  view.replaceChildren(page.element);
  page.heading.focus({ preventScroll: true });
  page.loadAttention(isCurrent);
  page.loadSimilar(isCurrent);
}

export function leave() {
  stopSpeaking();
  current = null;
}

class PhotoPage {
  constructor(image) {
    this.image = image;
    this.modelCaption = null;
    this.highlightSpoken = null;
    this.stage = new PhotoStage(copyUrl(image, "view"), altText(image), image.width, image.height);
    this.heading = el("h1", { tabindex: -1 });
    this.captionBox = el("div");
    this.tagsBox = el("div");
    this.formBox = el("div");
    this.similarBox = el("section", { class: "similar", hidden: true });
    this.editButton = el("button", { type: "button", onclick: () => this.edit() }, icon(EDIT_ICON), "Edit");
    this.element = el(
      "article",
      { class: "photo" },
      this.toolbar(),
      el("div", { class: "columns" }, this.stage.element, this.sidebar()),
      this.similarBox,
    );
    this.draw();
  }

  isEdited(field) {
    return this.image.edited.includes(field);
  }

  toolbar() {
    const { previous, next } = neighbours(this.image.id);
    const back = (event) => {
      if (history.state?.from !== "search") return;
      event.preventDefault();
      history.back();
    };
    return el(
      "div",
      { class: "bar" },
      el("a", { class: "button quiet", href: "/", onclick: back }, icon(PREVIOUS_ICON), "Back"),
      el(
        "span",
        { class: "steps" },
        stepLink("previous", previous, "Previous photo", PREVIOUS_ICON),
        stepLink("next", next, "Next photo", NEXT_ICON),
      ),
    );
  }

  sidebar() {
    const { description } = this.image;
    return el(
      "div",
      { class: "side" },
      this.heading,
      this.captionBox,
      this.actions(),
      this.formBox,
      el("h2", {}, "Tags"),
      this.tagsBox,
      description ? [el("h2", {}, "Description"), el("p", {}, description)] : null,
      el("h2", {}, "File"),
      fileDetails(this.image),
    );
  }

  actions() {
    const onWord = (index) => {
      if (!this.isEdited("caption")) this.highlightSpoken?.(index);
    };
    return el(
      "div",
      { class: "actions" },
      readAloudButton(() => altText(this.image), onWord),
      el(
        "a",
        { class: "button similar-link", href: searchUrl({ like: this.image.id }), "data-route": true },
        icon(SIMILAR_ICON),
        "More like this",
      ),
      this.editButton,
      el("a", { class: "button", href: originalUrl(this.image), download: true }, icon(SAVE_ICON), "Download"),
    );
  }

  draw() {
    const { image, modelCaption } = this;
    document.title = `${altText(image)} · seetell`;
    this.stage.image.alt = altText(image);
    this.heading.textContent = altText(image);
    const words = modelCaption?.words.length ? captionWords(modelCaption, this.stage) : null;
    const same = Boolean(words && modelCaption.caption === image.caption);
    this.heading.classList.toggle("hidden", same); // the words take its place
    this.highlightSpoken = same ? words.highlightSpoken : null;
    this.captionBox.replaceChildren(
      ...[
        this.isEdited("caption") ? el("p", { class: "dim" }, "Edited by you.") : null,
        words && !same ? el("p", { class: "dim" }, "The model's caption:") : null,
        words ? el("div", { class: same ? "large" : null }, words.element) : null,
      ].filter(Boolean),
    );
    const search = (label) => navigate(searchUrl({ tags: [label] }));
    this.tagsBox.replaceChildren(tagList(image.tags, this.isEdited("tags"), search));
  }

  async loadAttention(isCurrent) {
    const waiting = el("p", { class: "dim" }, "Captioning …");
    const timer = setTimeout(() => this.captionBox.append(waiting), 300);
    try {
      const caption = await get(`/images/${this.image.id}/attention`);
      if (!isCurrent()) return;
      this.modelCaption = caption;
      this.draw();
    } catch (error) {
      // 409: the model has no captioner, which is fine.
      if (isCurrent() && error.status !== 409) this.captionBox.append(el("p", { class: "dim" }, error.message));
    } finally {
      clearTimeout(timer);
      waiting.remove();
    }
  }

  async loadSimilar(isCurrent) {
    try {
      const { results } = await get(`/search?like=${this.image.id}&limit=12`);
      if (!isCurrent() || !results.length) return;
      const cards = results.map((result, index) => card({ ...result, matches: true }, false, index === 0));
      this.similarBox.replaceChildren(
        el("h2", {}, "More like this"),
        el("ul", { class: "grid small", "aria-label": "Similar photos", onkeydown: moveFocus }, cards),
      );
      this.similarBox.hidden = false;
    } catch {
      // The model has no retriever: there is nothing to show.
    }
  }

  edit() {
    if (!this.formBox.firstChild) this.formBox.replaceChildren(this.editForm());
    this.formBox.querySelector("textarea").focus();
  }

  closeForm() {
    this.formBox.replaceChildren();
    this.editButton.focus();
  }

  editForm() {
    const { image } = this;
    const caption = el("textarea", { id: "caption", rows: 3, maxlength: 4000 });
    caption.value = image.caption;
    const tags = el("input", { id: "tags", type: "text", autocomplete: "off", "aria-describedby": "tags-help" });
    tags.value = image.tags.map((tag) => tag.label).join(", ");
    const onsubmit = (event) => {
      event.preventDefault();
      const changes = editedFields(image, caption.value, tags.value);
      if (Object.keys(changes).length) this.save(changes);
      else this.closeForm();
    };
    const onkeydown = (event) => {
      if (event.key === "Escape") {
        event.stopPropagation();
        this.closeForm();
      }
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit();
    };
    return el(
      "form",
      { class: "edit", onsubmit, onkeydown },
      el("label", { for: "caption" }, "Caption"),
      caption,
      this.revertButton("caption", "Restore the model's caption"),
      el("label", { for: "tags" }, "Tags"),
      tags,
      el("p", { id: "tags-help", class: "dim" }, "Separated by commas."),
      this.revertButton("tags", "Restore the model's tags"),
      el(
        "div",
        { class: "actions" },
        el("button", { type: "submit", class: "main" }, "Save"),
        el("button", { type: "button", onclick: () => this.closeForm() }, "Cancel"),
      ),
    );
  }

  revertButton(field, text) {
    if (!this.isEdited(field)) return null;
    return el("button", { type: "button", class: "link", onclick: () => this.save({ [field]: null }) }, text);
  }

  async save(changes) {
    try {
      this.image = await send("PATCH", `/images/${this.image.id}`, changes);
      this.closeForm();
      this.draw();
      updateResult(this.image);
      announce("Saved");
    } catch (error) {
      toast(error.message);
    }
  }
}

function stepLink(kind, image, text, path) {
  if (!image) return el("span", { class: "button quiet", "aria-hidden": "true" }, icon(path));
  return el(
    "a",
    {
      class: `button quiet ${kind}`,
      href: photoUrl(image.id),
      "data-route": true,
      "data-replace": true,
      "aria-label": text,
      title: text,
    },
    icon(path),
  );
}

function fileDetails(image) {
  const taken = new Date(1000 * image.taken);
  const row = (name, ...value) => [el("dt", {}, name), el("dd", {}, ...value)];
  return el(
    "dl",
    { class: "facts" },
    row(
      image.files.length > 1 ? "Paths" : "Path",
      image.files.map((file) => el("span", { class: "path" }, file)),
    ),
    row("Size", `${image.width} × ${image.height} pixels, ${fileSize(image.bytes)}`),
    row(
      "Taken",
      el(
        "time",
        { datetime: taken.toISOString() },
        taken.toLocaleString(undefined, { dateStyle: "long", timeStyle: "short" }),
      ),
    ),
  );
}

/** The fields that differ from the image; an empty caption restores the model's. */
function editedFields(image, caption, tags) {
  const changes = {};
  const labels = tags.split(/[,;\n]/).map((tag) => tag.trim());
  const unique = [...new Set(labels.filter(Boolean))];
  if (caption.trim() !== image.caption) changes.caption = caption.trim() || null;
  if (unique.join("\n") !== image.tags.map((tag) => tag.label).join("\n")) changes.tags = unique;
  return changes;
}
