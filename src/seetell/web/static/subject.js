// The image that is searched by: one of the library, or one that was shown.

import { get } from "./api.js";
import { address, alt, announce, el, icon } from "./dom.js";
import { addressOf, change, go, question } from "./route.js";
import { Stage, reader, tagList, words } from "./told.js";

export const subject = el("div");
const looks = new Map(); // images that were shown: id → {look, source}

/** Keep what was told of an image that was shown; the id by which the address speaks of it. */
export function remember(look, source) {
  const id = look.id || `only-${looks.size + 1}`;
  looks.set(id, { look, source });
  return id;
}

/** Draw what the address asks to search by. */
export function showSubject() {
  const now = question();
  const close = el(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => change({ like: "", look: "" }),
      "aria-label": "Do not search by this image",
    },
    "×",
  );
  if (now.look && looks.has(now.look)) subject.replaceChildren(lookedAt(looks.get(now.look), close));
  else if (now.look)
    subject.replaceChildren(el("div", { class: "subject" }, el("p", {}, "Images like the one you showed."), close));
  else if (now.like) {
    const box = el("div", { class: "subject small" }, el("p", {}, "More like this one"), close);
    subject.replaceChildren(box);
    get(`/api/images/${encodeURIComponent(now.like)}`).then(
      (image) => {
        box.prepend(
          el(
            "a",
            { href: `/image/${image.id}`, "data-route": true },
            el("img", {
              src: address(image, "thumbnail"),
              alt: alt(image),
              width: image.width,
              height: image.height,
            }),
          ),
        );
        box.querySelector("p").textContent = `More like this: ${alt(image)}`;
      },
      () => {},
    );
  } else subject.replaceChildren();
}

function lookedAt({ look, source }, close) {
  const stage = new Stage(source, look.told.caption || "The image you showed");
  const spoken = look.told.words.length ? words(look.told, stage) : null;
  const onTag = (event, label) => {
    event.preventDefault();
    go(addressOf({ tags: [label] }));
  };
  return el(
    "section",
    { class: "subject look", "aria-label": "The image you showed" },
    stage.element,
    el(
      "div",
      { class: "beside" },
      el("h2", { class: "hidden" }, look.told.caption || "The image you showed"),
      spoken?.element,
      look.told.caption
        ? el(
            "div",
            { class: "actions" },
            reader(() => look.told.caption, spoken?.spoken),
            el(
              "button",
              // Browsers have a clipboard for addresses that they trust only.
              {
                type: "button",
                hidden: !navigator.clipboard,
                onclick: (event) => copy(event.currentTarget, look.told.caption),
              },
              icon("M9 9h11v11H9zM5 15H4V4h11v1"),
              "Copy the caption",
            ),
          )
        : null,
      tagList(look.tags, false, onTag),
    ),
    close,
  );
}

async function copy(button, text) {
  await navigator.clipboard.writeText(text);
  button.lastChild.textContent = "Copied";
  announce("Copied");
}
