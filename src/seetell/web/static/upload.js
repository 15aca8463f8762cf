// Uploading a photo: chosen, dropped anywhere on the page, or pasted.

import { upload } from "./api.js";
import { announce, byId, toast } from "./dom.js";
import { remember } from "./query-photo.js";
import { navigate, searchUrl } from "./router.js";

const MAX_BYTES = 32 * 2 ** 20;

export function setUp() {
  const input = byId("file");
  const overlay = byId("drop");
  byId("choose").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    if (input.files[0]) submit(input.files[0]);
    input.value = "";
  });
  document.addEventListener("paste", (event) => {
    const image = [...(event.clipboardData?.files ?? [])].find((file) => file.type.startsWith("image/"));
    if (!image) return;
    event.preventDefault();
    submit(image);
  });
  const carriesFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    overlay.hidden = false;
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) overlay.hidden = true;
  });
  document.addEventListener("drop", (event) => {
    overlay.hidden = true;
    if (!carriesFiles(event)) return;
    event.preventDefault();
    if (event.dataTransfer.files[0]) submit(event.dataTransfer.files[0]);
  });
}

async function submit(file) {
  if (file.size > MAX_BYTES) {
    toast(`This file is too large: the limit is ${MAX_BYTES / 2 ** 20} MB. Choose a smaller copy.`);
    return;
  }
  announce("Captioning your photo");
  document.body.classList.add("uploading");
  try {
    const result = await upload(file);
    navigate(searchUrl({ upload: remember(result, URL.createObjectURL(file)) }));
    announce(result.caption || "Your photo was uploaded");
  } catch (error) {
    toast(error.message);
  } finally {
    document.body.classList.remove("uploading");
  }
}
