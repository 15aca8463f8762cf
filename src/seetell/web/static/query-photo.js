// The photo that is searched by: one of the library, or an uploaded one.

import { copyUrl, get } from "./api.js";
import { PhotoStage, captionWords, readAloudButton, tagList } from "./attention.js";
import { altText, announce, el, icon } from "./dom.js";
import { changeQuery, currentQuery, navigate, photoUrl, searchUrl } from "./router.js";

export const queryPhoto = el("div");
const uploads = new Map(); // id → {result, source}

// Starts the id of an upload that the model captioned but cannot search by.
const NOT_SEARCHABLE = "caption-only-";

export const isSearchable = (id) => !id.startsWith(NOT_SEARCHABLE);

/** Keep the result of an upload; returns the id used in the page's URL. */
export function remember(result, source) {
  const id = result.id || `${NOT_SEARCHABLE}${uploads.size + 1}`;
  uploads.set(id, { result, source });
  return id;
}

/** Show the photo that the URL searches by, if any. */
export function showQueryPhoto() {
  const query = currentQuery();
  const close = el(
    "button",
    {
      type: "button",
      class: "quiet",
      onclick: () => changeQuery({ like: "", upload: "" }),
      "aria-label": "Stop searching by this photo",
    },
    "×",
  );
  if (query.upload && uploads.has(query.upload)) queryPhoto.replaceChildren(uploaded(uploads.get(query.upload), close));
  else if (query.upload)
    queryPhoto.replaceChildren(
      el("div", { class: "query-photo" }, el("p", {}, "Photos like the one you uploaded."), close),
    );
  else if (query.like) showLibraryPhoto(query.like, close);
  else queryPhoto.replaceChildren();
}

function showLibraryPhoto(id, close) {
  const text = el("p", {}, "More like this photo");
  const box = el("div", { class: "query-photo small" }, text, close);
  queryPhoto.replaceChildren(box);
  get(`/images/${encodeURIComponent(id)}`).then(
    (image) => {
      const { width, height } = image;
      box.prepend(
        el(
          "a",
          { href: photoUrl(image.id), "data-route": true },
          el("img", { src: copyUrl(image, "thumbnail"), alt: altText(image), width, height }),
        ),
      );
      text.textContent = `More like this: ${altText(image)}`;
    },
    () => {}, // the search itself reports the error
  );
}

function uploaded({ result, source }, close) {
  const title = result.caption || "Your photo";
  const stage = new PhotoStage(source, title);
  const words = result.words.length ? captionWords(result, stage) : null;
  return el(
    "section",
    { class: "query-photo upload", "aria-label": "Your photo" },
    stage.element,
    el(
      "div",
      { class: "details" },
      el("h2", { class: "hidden" }, title),
      words?.element,
      result.caption
        ? el(
            "div",
            { class: "actions" },
            readAloudButton(() => result.caption, words?.highlightSpoken),
            el(
              "button",
              // Browsers offer the clipboard only on secure origins.
              {
                type: "button",
                hidden: !navigator.clipboard,
                onclick: (event) => copyText(event.currentTarget, result.caption),
              },
              icon("M9 9h11v11H9zM5 15H4V4h11v1"),
              "Copy caption",
            ),
          )
        : null,
      tagList(result.tags, false, (label) => navigate(searchUrl({ tags: [label] }))),
    ),
    close,
  );
}

async function copyText(button, text) {
  await navigator.clipboard.writeText(text);
  button.lastChild.textContent = "Copied";
  announce("Copied");
}
