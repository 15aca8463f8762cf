// An image's page: what was told of it and where the model looked, what people say, more like it.

import { get, send } from "./api.js";
import { card, walk } from "./cards.js";
import { address, alt, announce, bytes, el, icon, toast } from "./dom.js";
import { addressOf, go } from "./route.js";
import { around, replaced } from "./search.js";
import { stopSpeaking } from "./speech.js";
import { Stage, reader, tagList, words } from "./told.js";

const EDIT = "M4 20l1-4L16.500 4.500l3 3L8 19z";
const LIKE = "M4 5h7v7H4zM13 12h7v7h-7zM15 5h5v4M9 19H4v-4";
const SAVE = "M12 4v11m0 0 4-4m-4 4-4-4M5 19h14";

let current = null; // what the keys speak to

export const keys = {
  e: () => current?.edit(),
  r: () => current?.element.querySelector(".read")?.click(),
  l: () => current?.element.querySelector("a.like")?.click(),
  ArrowLeft: () => current?.element.querySelector("a.before")?.click(),
  ArrowRight: () => current?.element.querySelector("a.after")?.click(),
};

/** Fill the view with an image; `alive` says whether the view is still wanted. */
export async function show(view, number, alive) {
  stopSpeaking();
  current = null;
  view.firstElementChild?.setAttribute("inert", ""); // until this one comes, nobody edits the one before
  const image = await get(`/api/images/${number}`);
  if (!alive()) return;
  const page = new Page(image);
  current = page;
  view.replaceChildren(page.element);
  page.heading.focus({ preventScroll: true });
  page.loadTold(alive);
  page.loadAlike(alive);
}

export function leave() {
  stopSpeaking();
  current = null;
}

class Page {
  constructor(image) {
    this.image = image;
    this.told = null;
    this.stage = new Stage(address(image, "view"), alt(image), image.width, image.height);
    this.heading = el("h1", { tabindex: -1 });
    this.said = el("div", { class: "said" });
    this.tags = el("div");
    this.form = el("div");
    this.alike = el("section", { class: "alike", hidden: true });
    const onTag = (event, label) => {
      event.preventDefault();
      go(addressOf({ tags: [label] }));
    };
    this.onTag = onTag;
    const near = around(image.id);
    const step = (kind, to, text, path) =>
      to
        ? el(
            "a",
            {
              class: `button quiet ${kind}`,
              href: `/image/${to.id}`,
              "data-route": true,
              "data-replace": true,
              "aria-label": text,
              title: text,
            },
            icon(path),
          )
        : el("span", { class: "button quiet", "aria-hidden": "true" }, icon(path));
    this.editButton = el("button", { type: "button", onclick: () => this.edit() }, icon(EDIT), "Edit");
    this.element = el(
      "article",
      { class: "image" },
      el(
        "div",
        { class: "bar" },
        el(
          "a",
          { class: "button quiet", href: "/", onclick: (event) => this.back(event) },
          icon("M15 5l-7 7 7 7"),
          "Back",
        ),
        el(
          "span",
          { class: "steps" },
          step("before", near.before, "The image before", "M15 5l-7 7 7 7"),
          step("after", near.after, "The next image", "M9 5l7 7-7 7"),
        ),
      ),
      el(
        "div",
        { class: "both" },
        this.stage.element,
        el(
          "div",
          { class: "side" },
          this.heading,
          this.said,
          el(
            "div",
            { class: "actions" },
            (this.readButton = reader(
              () => alt(this.image),
              (place) => {
                if (!this.isEdited("caption")) this.spoken?.(place);
              },
            )),
            el(
              "a",
              { class: "button like", href: addressOf({ like: image.id }), "data-route": true },
              icon(LIKE),
              "More like this",
            ),
            this.editButton,
            el(
              "a",
              { class: "button", href: `/api/images/${image.id}/original`, download: true },
              icon(SAVE),
              "Download",
            ),
          ),
          this.form,
          el("h2", {}, "Tags"),
          this.tags,
          image.description
            ? [el("h2", {}, "Written in the file or in a table"), el("p", {}, image.description)]
            : null,
          el("h2", {}, "File"),
          this.facts(),
        ),
      ),
      this.alike,
    );
    this.draw();
  }

  isEdited(what) {
    return this.image.edited.includes(what);
  }

  back(event) {
    if (history.state?.from !== "search") return;
    event.preventDefault();
    history.back();
  }

  facts() {
    const { image } = this;
    const when = new Date(1000 * image.taken);
    const row = (name, ...value) => [el("dt", {}, name), el("dd", {}, ...value)];
    return el(
      "dl",
      { class: "facts" },
      row(
        image.files.length > 1 ? "Places" : "Place",
        image.files.map((file) => el("span", { class: "path" }, file)),
      ),
      row("Size", `${image.width} × ${image.height} pixels, ${bytes(image.bytes)}`),
      row(
        "Taken",
        el(
          "time",
          { datetime: when.toISOString() },
          when.toLocaleString(undefined, { dateStyle: "long", timeStyle: "short" }),
        ),
      ),
    );
  }

  draw() {
    const { image, told } = this;
    document.title = `${alt(image)} · seetell`;
    this.stage.image.alt = alt(image);
    this.heading.textContent = alt(image);
    const same = told && told.caption === image.caption;
    // The words say the same, larger and with light.
    this.heading.classList.toggle("hidden", Boolean(same && told.words.length));
    const model = told?.words.length ? words(told, this.stage) : null;
    this.spoken = same ? model?.spoken : null;
    this.said.replaceChildren(
      ...[
        this.isEdited("caption") ? el("p", { class: "dim" }, "You wrote this.") : null,
        model && !same ? el("p", { class: "dim" }, "The model said:") : null,
        model ? el("div", { class: same ? "large" : "" }, model.element) : null,
      ].filter(Boolean),
    );
    this.tags.replaceChildren(tagList(image.tags, this.isEdited("tags"), this.onTag));
  }

  async loadTold(alive) {
    const wait = setTimeout(() => this.said.append(el("p", { class: "dim wait" }, "Looking …")), 300);
    try {
      const told = await get(`/api/images/${this.image.id}/told`);
      if (!alive()) return;
      this.told = told;
      this.draw();
    } catch (error) {
      // A bundle without a captioner has nothing to tell, and nothing is wrong with that.
      if (alive() && error.status !== 409) this.said.append(el("p", { class: "dim" }, error.message));
    } finally {
      clearTimeout(wait);
      this.said.querySelector(".wait")?.remove();
    }
  }

  async loadAlike(alive) {
    try {
      const found = await get(`/api/search?like=${this.image.id}&limit=12`);
      if (!alive() || !found.rows.length) return;
      const grid = el(
        "ul",
        { class: "grid small", "aria-label": "Images like this one", onkeydown: walk },
        found.rows.map((row, place) => card({ ...row, matches: true }, false, place === 0)),
      );
      this.alike.replaceChildren(el("h2", {}, "More like this"), grid);
      this.alike.hidden = false;
    } catch {
      /* a bundle that cannot search has none */
    }
  }

  edit() {
    if (this.form.firstChild) return this.form.querySelector("textarea").focus();
    const { image } = this;
    const caption = el("textarea", { id: "caption", rows: 3, maxlength: 4000 });
    caption.value = image.caption;
    const tags = el("input", { id: "tags", type: "text", autocomplete: "off", "aria-describedby": "tags-help" });
    tags.value = image.tags.map((tag) => tag.label).join(", ");
    const close = () => {
      this.form.replaceChildren();
      this.editButton.focus();
    };
    const again = (what, text) =>
      this.isEdited(what)
        ? el("button", { type: "button", class: "link", onclick: () => this.save({ [what]: null }, close) }, text)
        : null;
    const form = el(
      "form",
      {
        class: "edit",
        onsubmit: (event) => {
          event.preventDefault();
          const list = [
            ...new Set(
              tags.value
                .split(/[,;\n]/)
                .map((tag) => tag.trim())
                .filter(Boolean),
            ),
          ];
          const changes = {};
          if (caption.value.trim() !== image.caption) changes.caption = caption.value.trim() || null;
          if (list.join("\n") !== image.tags.map((tag) => tag.label).join("\n")) changes.tags = list;
          if (Object.keys(changes).length) this.save(changes, close);
          else close();
        },
        onkeydown: (event) => {
          if (event.key === "Escape") {
            event.stopPropagation();
            close();
          }
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
        },
      },
      el("label", { for: "caption" }, "Caption"),
      caption,
      again("caption", "Use the model's caption again"),
      el("label", { for: "tags" }, "Tags"),
      tags,
      el("p", { id: "tags-help", class: "dim" }, "Separated by commas."),
      again("tags", "Use the model's tags again"),
      el(
        "div",
        { class: "actions" },
        el("button", { type: "submit", class: "main" }, "Save"),
        el("button", { type: "button", onclick: close }, "Cancel"),
      ),
    );
    this.form.replaceChildren(form);
    caption.focus();
  }

  async save(changes, close) {
    try {
      this.image = await send("PATCH", `/api/images/${this.image.id}`, changes);
      close();
      this.draw();
      replaced(this.image);
      announce("Kept; it is searched from now on.");
    } catch (error) {
      toast(error.message);
    }
  }
}
