// The page of the API, drawn from its own OpenAPI description.

import { OPENAPI_URL, get } from "./api.js";
import { byId, el } from "./dom.js";

const schemaName = (schema) => {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(schemaName).join(" or ");
  if (schema.type === "array") return `list of ${schemaName(schema.items) || "anything"}`;
  if (schema.enum) return schema.enum.map((each) => `“${each}”`).join(" or ");
  return schema.type ?? schema.format ?? "anything";
};

const isEmpty = (value) =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && !value.length);

function limits(schema = {}) {
  const parts = [];
  if (schema.minimum !== undefined && schema.maximum !== undefined)
    parts.push(`${schema.minimum} to ${schema.maximum.toLocaleString("en")}`);
  if (schema.maxLength) parts.push(`at most ${schema.maxLength.toLocaleString("en")} characters`);
  if (!isEmpty(schema.default)) parts.push(`default ${schema.default}`);
  return parts.length ? `(${parts.join("; ")})` : "";
}

/** A link to a schema's section, if there is one. */
function schemaLink(text, known) {
  const name = text.replace("list of ", "");
  return known.has(name) ? el("a", { href: `#${name}` }, text) : text;
}

/** A text whose `code` is marked by backticks. */
const withCode = (text) => text.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part));

function scrollable(label, ...children) {
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, ...children);
}

function parameterTable(label, parameters) {
  if (!parameters?.length) return null;
  const columns = ["Parameter", "Type", "Meaning"].map((name) => el("th", { scope: "col" }, name));
  const rows = parameters.map(({ name, schema, description }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, el("code", {}, name)),
      el("td", {}, schemaName(schema)),
      el("td", {}, withCode([description, limits(schema)].filter(Boolean).join(" "))),
    ),
  );
  return scrollable(label, el("table", {}, el("thead", {}, el("tr", {}, columns)), el("tbody", {}, rows)));
}

function operationSection(path, method, operation, known) {
  const codes = Object.keys(operation.responses);
  const success = operation.responses[codes.find((code) => code.startsWith("2"))];
  const errors = codes.filter((code) => !code.startsWith("2"));
  const [contentType, content] = Object.entries(success.content ?? {})[0] ?? ["nothing", {}];
  const [bodyType, body] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  const bodyName = body?.schema?.$ref ? schemaName(body.schema) : bodyType;
  const title = `${method.toUpperCase()} ${path}`;
  return el(
    "section",
    { class: "operation" },
    el(
      "h2",
      { id: `op-${operation.operationId}` },
      el("code", { class: `method ${method}` }, method.toUpperCase()),
      " ",
      el("code", {}, path),
    ),
    el("p", {}, withCode(operation.description ?? operation.summary)),
    parameterTable(`Parameters of ${title}`, operation.parameters),
    el(
      "p",
      {},
      bodyName ? ["Body: ", schemaLink(bodyName, known), ". "] : null,
      "Returns: ",
      schemaLink(schemaName(content.schema) || contentType, known),
      ".",
      errors.length ? ` Errors: ${errors.join(", ")}.` : "",
    ),
    method === "get" && !path.includes("{") && !path.endsWith("/events")
      ? el("p", {}, el("a", { href: path }, "Try it"))
      : null,
  );
}

function schemaSection(name, { description, properties = {} }) {
  const rows = Object.entries(properties).map(([field, property]) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, el("code", {}, field)),
      el("td", {}, schemaName(property)),
      el("td", {}, withCode(property.description ?? "")),
    ),
  );
  return el(
    "section",
    {},
    el("h3", { id: name }, name),
    description ? el("p", {}, withCode(description)) : null,
    scrollable(name, el("table", {}, el("tbody", {}, rows))),
  );
}

const main = byId("main");
try {
  const api = await get("/openapi.json");
  const hidden = new Set(["HTTPValidationError", "ValidationError"]);
  const schemas = Object.entries(api.components.schemas).filter(([name]) => !hidden.has(name));
  const known = new Set(schemas.map(([name]) => name));
  main.append(
    el("p", {}, api.info.summary, ` Version ${api.info.version}. `, el("a", { href: OPENAPI_URL }, "openapi.json")),
    el(
      "p",
      {},
      "Requests that write need a Content-Length header. If the server requires a token, send “Authorization: Bearer TOKEN”. Failed requests return an error and a remedy.",
    ),
    ...Object.entries(api.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => operationSection(path, method, operation, known)),
    ),
    el("h2", {}, "Schemas"),
    ...schemas.map(([name, schema]) => schemaSection(name, schema)),
  );
} catch (error) {
  main.append(el("p", { class: "empty" }, error.message));
}
