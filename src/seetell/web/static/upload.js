// Images that are shown to the page: chosen, dropped anywhere, or pasted.

import { upload } from "./api.js";
import { announce, byId, toast } from "./dom.js";
import { addressOf, go } from "./route.js";
import { remember } from "./subject.js";

const MOST = 32 * 2 ** 20;

export function begin() {
  const file = byId("file");
  const curtain = byId("drop");
  byId("choose").addEventListener("click", () => file.click());
  file.addEventListener("change", () => {
    if (file.files[0]) show(file.files[0]);
    file.value = "";
  });
  document.addEventListener("paste", (event) => {
    const image = [...(event.clipboardData?.files ?? [])].find((each) => each.type.startsWith("image/"));
    if (!image) return;
    event.preventDefault();
    show(image);
  });
  const carriesFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    curtain.hidden = false;
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) curtain.hidden = true;
  });
  document.addEventListener("drop", (event) => {
    curtain.hidden = true;
    if (!carriesFiles(event)) return;
    event.preventDefault();
    if (event.dataTransfer.files[0]) show(event.dataTransfer.files[0]);
  });
}

async function show(file) {
  if (file.size > MOST) return toast(`This is too large: ${MOST / 2 ** 20} MB at most. Make a smaller copy of it.`);
  announce("Looking at your image");
  document.body.classList.add("looking");
  try {
    const look = await upload("/api/looks", file);
    go(addressOf({ look: remember(look, URL.createObjectURL(file)) }));
    announce(look.told.caption || "Your image was looked at");
  } catch (error) {
    toast(error.message);
  } finally {
    document.body.classList.remove("looking");
  }
  return undefined;
}
