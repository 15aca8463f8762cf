// The search query in the page's URL, and navigation to another URL.

let navigateTo = () => {};

/** Set the function that navigates to a URL. */
export function setNavigator(navigate) {
  navigateTo = navigate;
}

export const navigate = (url, options) => navigateTo(url, options);

/** Read the search query from the URL. */
export function currentQuery(search = location.search) {
  const parameters = new URLSearchParams(search);
  return {
    q: parameters.get("q") ?? "",
    tags: parameters.getAll("tag"),
    excluded: parameters.getAll("not"),
    like: parameters.get("like") ?? "",
    upload: parameters.get("upload") ?? "",
  };
}

/** The URL of a search. */
export function searchUrl({ q = "", tags = [], excluded = [], like = "", upload = "" }) {
  const parameters = new URLSearchParams();
  if (q.trim()) parameters.set("q", q);
  tags.forEach((tag) => parameters.append("tag", tag));
  excluded.forEach((tag) => parameters.append("not", tag));
  if (like) parameters.set("like", like);
  if (upload) parameters.set("upload", upload);
  const text = parameters.toString();
  return text ? `/?${text}` : "/";
}

export const photoUrl = (id) => `/photo/${id}`;

/** Search again with a part of the query changed. */
export const changeQuery = (part) => navigate(searchUrl({ ...currentQuery(), ...part }));
