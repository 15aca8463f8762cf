// Small helpers. All text goes through `textContent` and attributes: nothing that anybody wrote is ever read as HTML.

/** An element: `el("a", {href, class, onclick, dataset}, ...children)`; children are nodes or text, null is left out. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "dataset") Object.assign(made.dataset, value);
    else if (name === "style")
      for (const [property, each] of Object.entries(value)) made.style.setProperty(property, each);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter((each) => each !== null && each !== undefined && each !== false));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

/** A drawing of one path, beside which there is always a text. */
export function icon(path) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

export const byId = (id) => document.getElementById(id);

/** Say something to those who listen to the page. */
export function announce(text) {
  byId("status").textContent = text;
}

let toastTimer = 0;

/** Say something to everybody, for a while. */
export function toast(text) {
  const box = byId("toast");
  box.textContent = text;
  box.hidden = false;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => {
    box.hidden = true;
  }, 7000);
}

export const percent = (share) => (share > 0 && share < 0.005 ? "under 1 %" : `${Math.round(100 * share)} %`);

export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

export function bytes(number) {
  return number >= 1e6 ? `${(number / 1e6).toFixed(1)} MB` : `${Math.max(1, Math.round(number / 1e3))} kB`;
}

export function clock(seconds) {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const address = (image, kind) => `/api/images/${image.id}/${kind}.jpg?v=${image.version}`;

/** What to say of an image to those who do not see it: its caption; without one its tags, or its name. */
export function alt(image) {
  return image.caption || image.tags.map((tag) => tag.label).join(", ") || image.description || image.name;
}
