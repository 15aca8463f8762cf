// The question, as the address of the page has it, and the way to another address.

let way = () => {};

/** Says who takes the page to another address. */
export function leads(navigator) {
  way = navigator;
}

export const go = (to, options) => way(to, options);

export function question(search = location.search) {
  const asks = new URLSearchParams(search);
  return {
    q: asks.get("q") ?? "",
    tags: asks.getAll("tag"),
    not: asks.getAll("not"),
    like: asks.get("like") ?? "",
    look: asks.get("look") ?? "",
  };
}

export function addressOf({ q = "", tags = [], not = [], like = "", look = "" }) {
  const asks = new URLSearchParams();
  if (q.trim()) asks.set("q", q);
  tags.forEach((tag) => asks.append("tag", tag));
  not.forEach((tag) => asks.append("not", tag));
  if (like) asks.set("like", like);
  if (look) asks.set("look", look);
  const text = asks.toString();
  return text ? `/?${text}` : "/";
}

/** Ask the same but for a part. */
export const change = (part) => go(addressOf({ ...question(), ...part }));
