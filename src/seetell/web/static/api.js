// Requests to the server. A failed one throws an `ApiError` with a message for people.

const PREFIX = "/api/v1";

export const EVENTS_URL = `${PREFIX}/events`;
export const OPENAPI_URL = `${PREFIX}/openapi.json`;

export class ApiError extends Error {
  constructor(status, message, remedy) {
    super(remedy ? `${message}. ${remedy}` : message);
    this.status = status;
  }
}

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(PREFIX + path, {
      ...options,
      headers: { Accept: "application/json", ...options.headers },
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The server does not respond", "Is `seetell serve` still running?");
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok)
    throw new ApiError(response.status, body.error || `The server responded with ${response.status}`, body.remedy);
  return body;
}

export const get = (path, signal) => request(path, { signal });

export const send = (method, path, body) =>
  request(path, { method, body: JSON.stringify(body ?? {}), headers: { "Content-Type": "application/json" } });

export const upload = (file) =>
  request("/uploads", {
    method: "POST",
    body: file,
    headers: { "Content-Type": file.type || "application/octet-stream" },
  });

/** URL of a scaled copy of an image: `thumbnail` or `view`. */
export const copyUrl = (image, size) => `${PREFIX}/images/${image.id}/${size}.jpg?v=${image.version}`;

/** URL of an image's original file. */
export const originalUrl = (image) => `${PREFIX}/images/${image.id}/original`;
