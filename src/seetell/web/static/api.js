// Questions to the server. An answer that is not one becomes an `Error` that people can read.

export class Refused extends Error {
  constructor(status, problem, remedy) {
    super(remedy ? `${problem}. ${remedy}` : problem);
    this.status = status;
  }
}

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(path, { ...options, headers: { Accept: "application/json", ...options.headers } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "The server does not answer", "Is `seetell serve` still running?");
  }
  const said = await answer.json().catch(() => ({}));
  if (!answer.ok)
    throw new Refused(answer.status, said.problem || `The server answered ${answer.status}`, said.remedy || "");
  return said;
}

export const get = (path, signal) => ask(path, { signal });

export const send = (method, path, said) =>
  ask(path, { method, body: JSON.stringify(said ?? {}), headers: { "Content-Type": "application/json" } });

export const upload = (path, file) =>
  ask(path, { method: "POST", body: file, headers: { "Content-Type": file.type || "application/octet-stream" } });
