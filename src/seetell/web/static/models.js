// Bundles side by side: what each can do, and what was measured, in tables of what can be compared.

import { get } from "./api.js";
import { bytes, el } from "./dom.js";

const KINDS = { captioner: "Captions", tagger: "Tags", retriever: "Search" };
const FIRST = {
  captioner: ["bleu1", "bleu2", "bleu3", "bleu4", "meteor", "rouge_l", "cider"],
  tagger: ["precision", "recall", "f1_of_means", "f1", "map", "c_f1", "o_f1"],
  retriever: [
    "image_to_text.r1",
    "image_to_text.r5",
    "image_to_text.r10",
    "image_to_text.median_rank",
    "text_to_image.r1",
    "text_to_image.r5",
    "text_to_image.r10",
    "text_to_image.median_rank",
    "sum_of_recalls",
  ],
};
const NAMES = {
  meteor: "METEOR",
  rouge_l: "ROUGE-L",
  cider: "CIDEr",
  map: "mAP",
  f1: "F1",
  f1_of_means: "F1 of means",
  c_f1: "C-F1",
  o_f1: "O-F1",
  precision: "Precision",
  recall: "Recall",
  sum_of_recalls: "Sum of recalls",
};

function name(metric) {
  const [direction, inner] = metric.includes(".") ? metric.split(/\.(.*)/) : ["", metric];
  const side =
    { image_to_text: "LibraryImage → text ", text_to_image: "Text → image " }[direction] ??
    (direction ? `${direction} ` : "");
  const plain =
    NAMES[inner] ??
    inner
      .replace(/^bleu(\d)$/, "BLEU-$1")
      .replace(/^r(\d+)$/, "R@$1")
      .replaceAll("_", " ");
  return side + plain;
}

export async function show(view, alive) {
  const bundles = await get("/api/bundles");
  if (!alive()) return;
  document.title = "Bundles · seetell";
  const heading = el("h1", { tabindex: -1 }, "Bundles");
  view.replaceChildren(
    el(
      "article",
      { class: "bundles" },
      heading,
      el(
        "p",
        { class: "dim" },
        "A bundle is what was learned: a captioner, a tagger, a retriever, or all three. Scores are what the bundles carry themselves; only figures in one table can be compared.",
      ),
      bundles.length
        ? el("ul", { class: "cards" }, bundles.map(about))
        : el(
            "p",
            { class: "empty" },
            "There are no bundles on this computer. “seetell learn export” makes one, “seetell bundles add” adds it.",
          ),
      Object.keys(KINDS).flatMap((kind) => section(kind, bundles)),
    ),
  );
  heading.focus({ preventScroll: true });
}

function about(bundle) {
  const row = (term, value) => (value ? [el("dt", {}, term), el("dd", {}, value)] : []);
  return el(
    "li",
    { class: bundle.used ? "used" : null },
    el(
      "h2",
      {},
      bundle.name,
      bundle.used ? el("small", {}, "in use here") : null,
      bundle.builtin ? el("small", {}, "built in") : null,
    ),
    bundle.problem ? el("p", { class: "wrong" }, bundle.problem) : null,
    bundle.about ? el("p", {}, bundle.about) : null,
    bundle.problem
      ? null
      : el(
          "dl",
          { class: "facts" },
          row("Does", bundle.kinds.map((kind) => KINDS[kind].toLowerCase()).join(", ")),
          row("Network", bundle.encoder),
          row("Size", `${bytes(bundle.bytes)}, ${bundle.precision}`),
          row("Learned from", bundle.training_data.join("; ")),
          row("Licence", bundle.licence),
          row("Fingerprint", el("code", {}, bundle.fingerprint.slice(0, 16))),
        ),
  );
}

/** Tables of a kind: one for each data and split; what was measured on bundles first. */
function section(kind, bundles) {
  const groups = new Map();
  for (const bundle of bundles) {
    for (const score of bundle.scores[kind] ?? []) {
      const key = `${score.measured_on}\n${score.data}\n${score.split}`;
      groups.set(key, [...(groups.get(key) ?? []), { bundle, score }]);
    }
  }
  if (!groups.size) return [];
  const tables = [...groups.values()].sort((a, b) => (a[0].score.measured_on < b[0].score.measured_on ? -1 : 1));
  const measured = tables.filter((rows) => rows[0].score.measured_on === "bundle").map((rows) => table(kind, rows));
  const training = tables.filter((rows) => rows[0].score.measured_on !== "bundle").map((rows) => table(kind, rows));
  return [
    el(
      "section",
      {},
      el("h2", {}, KINDS[kind]),
      measured,
      training.length
        ? el("details", {}, el("summary", {}, "Measured on the checkpoints they were made from"), training)
        : null,
    ),
  ];
}

function table(kind, rows) {
  const all = [...new Set(rows.flatMap(({ score }) => Object.keys(score.metrics)))];
  const columns = [
    ...FIRST[kind].filter((each) => all.includes(each)),
    ...all.filter((each) => !FIRST[kind].includes(each)),
  ];
  const wide = new Set(columns.slice(0, Math.max(FIRST[kind].filter((each) => all.includes(each)).length, 4)));
  const shown = columns.filter((each) => wide.has(each));
  const best = Object.fromEntries(
    shown.map((column) => {
      const values = rows.map(({ score }) => score.metrics[column]).filter((value) => value !== undefined);
      return [column, rows.length > 1 ? (/rank/.test(column) ? Math.min(...values) : Math.max(...values)) : NaN];
    }),
  );
  const { data, split, images } = rows[0].score;
  const caption = `${data}, ${split}${images ? `, ${images.toLocaleString("en")} images` : ""}`;
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `${KINDS[kind]}: ${caption}` },
    el(
      "table",
      {},
      el("caption", {}, caption),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, "Bundle"),
          shown.map((column) => el("th", { scope: "col" }, name(column))),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map(({ bundle, score }) =>
          el(
            "tr",
            {},
            el("th", { scope: "row", title: score.protocol }, bundle.name),
            shown.map((column) => {
              const value = score.metrics[column];
              return el(
                "td",
                { class: value === best[column] ? "best" : null },
                value === undefined ? "–" : value.toFixed(1),
              );
            }),
          ),
        ),
      ),
    ),
    rows[0].score.protocol
      ? el("p", { class: "dim" }, [...new Set(rows.map(({ score }) => score.protocol))].join("; "))
      : null,
    columns.length > shown.length
      ? el(
          "details",
          {},
          el("summary", {}, "All figures"),
          rows.map(({ bundle, score }) =>
            el(
              "p",
              {},
              `${bundle.name}: `,
              Object.entries(score.metrics)
                .map(([key, value]) => `${name(key)} ${value.toFixed(1)}`)
                .join(" · "),
            ),
          ),
        )
      : null,
  );
}
