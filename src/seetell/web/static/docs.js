// The API's own description, as a page.

import { get } from "./api.js";
import { byId, el } from "./dom.js";

const schemaName = (schema) => {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(schemaName).join(" or ");
  if (schema.type === "array") return `list of ${schemaName(schema.items) || "anything"}`;
  if (schema.enum) return schema.enum.map((each) => `“${each}”`).join(" or ");
  return schema.type ?? schema.format ?? "anything";
};

function limits(schema = {}) {
  const parts = [];
  if (schema.minimum !== undefined && schema.maximum !== undefined)
    parts.push(`${schema.minimum} to ${schema.maximum.toLocaleString("en")}`);
  if (schema.maxLength) parts.push(`${schema.maxLength} characters at most`);
  if (
    schema.default !== undefined &&
    schema.default !== "" &&
    schema.default !== null &&
    !(Array.isArray(schema.default) && !schema.default.length)
  )
    parts.push(`${schema.default} unless told`);
  return parts.join(", ");
}

const linked = (text, known) =>
  known.has(text.replace("list of ", "")) ? el("a", { href: `#${text.replace("list of ", "")}` }, text) : text;

function operation(path, method, said, known) {
  const answers = Object.entries(said.responses).filter(([code]) => code.startsWith("2"));
  const refusals = Object.keys(said.responses).filter((code) => !code.startsWith("2"));
  const answer =
    answers
      .flatMap(([, each]) => Object.entries(each.content ?? {}))
      .map(([kind, each]) => schemaName(each.schema) || kind)[0] ?? "nothing";
  const body = Object.entries(said.requestBody?.content ?? {}).map(([kind, each]) =>
    each.schema?.$ref ? schemaName(each.schema) : kind,
  )[0];
  return el(
    "section",
    { class: "operation" },
    el(
      "h2",
      { id: `op-${said.operationId}` },
      el("code", { class: `method ${method}` }, method.toUpperCase()),
      " ",
      el("code", {}, path),
    ),
    el("p", {}, said.description ?? said.summary),
    said.parameters?.length
      ? el(
          "div",
          {
            class: "scroll",
            tabindex: 0,
            role: "region",
            "aria-label": `Parameters of ${method.toUpperCase()} ${path}`,
          },
          el(
            "table",
            {},
            el(
              "thead",
              {},
              el(
                "tr",
                {},
                ["Parameter", "Type", "Meaning"].map((each) => el("th", { scope: "col" }, each)),
              ),
            ),
            el(
              "tbody",
              {},
              said.parameters.map((each) =>
                el(
                  "tr",
                  {},
                  el("th", { scope: "row" }, el("code", {}, each.name)),
                  el("td", {}, schemaName(each.schema)),
                  el(
                    "td",
                    {},
                    [each.description, limits(each.schema)].filter(Boolean).join(" ") ||
                      (each.in === "path" ? "In the address." : ""),
                  ),
                ),
              ),
            ),
          ),
        )
      : null,
    el(
      "p",
      {},
      body ? ["Takes ", linked(body, known), ". "] : null,
      "Answers with ",
      linked(answer, known),
      ".",
      refusals.length ? ` Refuses with ${refusals.join(", ")}.` : "",
    ),
    method === "get" && !path.includes("{") && path !== "/api/events"
      ? el("p", {}, el("a", { href: path }, "Try it"))
      : null,
  );
}

function schema(name, said) {
  return el(
    "section",
    {},
    el("h3", { id: name }, name),
    said.description ? el("p", {}, said.description) : null,
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": name },
      el(
        "table",
        {},
        el(
          "tbody",
          {},
          Object.entries(said.properties ?? {}).map(([field, each]) =>
            el(
              "tr",
              {},
              el("th", { scope: "row" }, el("code", {}, field)),
              el("td", {}, schemaName(each)),
              el("td", {}, each.description ?? ""),
            ),
          ),
        ),
      ),
    ),
  );
}

const main = byId("main");
try {
  const api = await get("/api/openapi.json");
  const hidden = new Set(["HTTPValidationError", "ValidationError"]);
  const schemas = Object.entries(api.components.schemas).filter(([name]) => !hidden.has(name));
  const known = new Set(schemas.map(([name]) => name));
  main.append(
    el(
      "p",
      {},
      api.info.summary,
      ` Version ${api.info.version}. `,
      el("a", { href: "/api/openapi.json" }, "openapi.json"),
    ),
    el(
      "p",
      {},
      "Requests that write need a Content-Length. Where the server asks for a token, send “Authorization: Bearer TOKEN”. What is refused is answered with a problem and a remedy.",
    ),
    ...Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, said]) => operation(path, method, said, known)),
    ),
    el("h2", {}, "What is answered"),
    ...schemas.map(([name, said]) => schema(name, said)),
  );
} catch (error) {
  main.append(el("p", { class: "empty" }, error.message));
}
