// The models on this computer: what each does, and its scores in tables that can be compared.

import { get } from "./api.js";
import { el, fileSize } from "./dom.js";

const KINDS = { captioner: "Captions", tagger: "Tags", retriever: "Search" };
const MAIN_METRICS = {
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

function metricName(metric) {
  const [direction, inner] = metric.includes(".") ? metric.split(/\.(.*)/) : ["", metric];
  const prefix =
    { image_to_text: "Image → text ", text_to_image: "Text → image " }[direction] ??
    (direction ? `${direction} ` : "");
  const plain =
    NAMES[inner] ??
    inner
      .replace(/^bleu(\d)$/, "BLEU-$1")
      .replace(/^r(\d+)$/, "R@$1")
      .replaceAll("_", " ");
  return prefix + plain;
}

export async function show(view, isCurrent) {
  const models = await get("/models");
  if (!isCurrent()) return;
  document.title = "Models · seetell";
  const heading = el("h1", { tabindex: -1 }, "Models");
  view.replaceChildren(
    el(
      "article",
      { class: "models" },
      heading,
      el(
        "p",
        { class: "dim" },
        "A model captions, tags or searches photos, or does all three. Its scores are stored in it; compare figures only within a table.",
      ),
      models.length
        ? el("ul", { class: "cards" }, models.map(modelCard))
        : el(
            "p",
            { class: "empty" },
            "No model is installed. “seetell learn export” creates one, “seetell models add” installs it.",
          ),
      Object.keys(KINDS).flatMap((kind) => scoreSection(kind, models)),
    ),
  );
  heading.focus({ preventScroll: true });
}

function modelCard(model) {
  const row = (term, value) => (value ? [el("dt", {}, term), el("dd", {}, value)] : []);
  return el(
    "li",
    { class: model.in_use ? "used" : null },
    el(
      "h2",
      {},
      model.name,
      model.in_use ? el("small", {}, "in use") : null,
      model.builtin ? el("small", {}, "built in") : null,
    ),
    model.error ? el("p", { class: "error" }, model.error) : null,
    model.about ? el("p", {}, model.about) : null,
    model.error
      ? null
      : el(
          "dl",
          { class: "facts" },
          row("Provides", model.kinds.map((kind) => KINDS[kind].toLowerCase()).join(", ")),
          row("Encoder", model.encoder),
          row("Size", `${fileSize(model.bytes)}, ${model.precision}`),
          row("Trained on", model.training_data.join("; ")),
          row("Licence", model.licence),
          row("Fingerprint", el("code", {}, model.fingerprint.slice(0, 16))),
        ),
  );
}

/** The tables of one kind of head: one per dataset and split, scores of exported models first. */
function scoreSection(kind, models) {
  const groups = new Map();
  for (const model of models) {
    for (const score of model.scores[kind] ?? []) {
      const key = `${score.measured_on}\n${score.data}\n${score.split}`;
      groups.set(key, [...(groups.get(key) ?? []), { model, score }]);
    }
  }
  if (!groups.size) return [];
  const exported = [...groups.values()].filter(([first]) => first.score.measured_on === "bundle");
  const checkpoints = [...groups.values()].filter(([first]) => first.score.measured_on !== "bundle");
  return [
    el(
      "section",
      {},
      el("h2", {}, KINDS[kind]),
      exported.map((rows) => scoreTable(kind, rows)),
      checkpoints.length
        ? el(
            "details",
            {},
            el("summary", {}, "Scores of the checkpoints they were exported from"),
            checkpoints.map((rows) => scoreTable(kind, rows)),
          )
        : null,
    ),
  ];
}

function scoreTable(kind, rows) {
  const { data, split, images } = rows[0].score;
  const title = `${data}, ${split}${images ? `, ${images.toLocaleString("en")} images` : ""}`;
  const protocols = [...new Set(rows.map(({ score }) => score.protocol).filter(Boolean))];
  const all = [...new Set(rows.flatMap(({ score }) => Object.keys(score.metrics)))];
  const columns = mainColumns(kind, all);
  return el(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `${KINDS[kind]}: ${title}` },
    el(
      "table",
      {},
      el("caption", {}, title),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, "Model"),
          columns.map((column) => el("th", { scope: "col" }, metricName(column))),
        ),
      ),
      el("tbody", {}, scoreRows(rows, columns)),
    ),
    protocols.length ? el("p", { class: "dim" }, protocols.join("; ")) : null,
    all.length > columns.length ? allMetrics(rows) : null,
  );
}

/** The main metrics of a kind; if there are fewer than four, others as well. */
function mainColumns(kind, all) {
  const main = MAIN_METRICS[kind].filter((metric) => all.includes(metric));
  const others = all.filter((metric) => !MAIN_METRICS[kind].includes(metric));
  return [...main, ...others].slice(0, Math.max(main.length, 4));
}

function scoreRows(rows, columns) {
  const best = (column) => {
    const values = rows.map(({ score }) => score.metrics[column]).filter((value) => value !== undefined);
    if (rows.length < 2) return NaN;
    return /rank/.test(column) ? Math.min(...values) : Math.max(...values);
  };
  const bests = Object.fromEntries(columns.map((column) => [column, best(column)]));
  return rows.map(({ model, score }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", title: score.protocol }, model.name),
      columns.map((column) => {
        const value = score.metrics[column];
        const text = value === undefined ? "–" : value.toFixed(1);
        return el("td", { class: value === bests[column] ? "best" : null }, text);
      }),
    ),
  );
}

function allMetrics(rows) {
  const text = ({ metrics }) =>
    Object.entries(metrics)
      .map(([metric, value]) => `${metricName(metric)} ${value.toFixed(1)}`)
      .join(" · ");
  return el(
    "details",
    {},
    el("summary", {}, "All metrics"),
    rows.map(({ model, score }) => el("p", {}, `${model.name}: `, text(score))),
  );
}
