/** The state in the fragment: a path of ours and a query. A fragment reaches no log and no proxy. */
import { signal } from "@preact/signals";

/** @typedef {{ path: string[], query: URLSearchParams }} Place */

/** @param {string} text @returns {string} The text; itself where it is no URL encoding. */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param {string} hash @returns {Place} */
export function parsePlace(hash) {
  const [path, query] = hash.replace(/^#?\/?/, "").split("?", 2);
  return { path: (path ?? "").split("/").filter(Boolean).map(decode), query: new URLSearchParams(query ?? "") };
}

export const place = signal(parsePlace(location.hash));
addEventListener("hashchange", () => {
  place.value = parsePlace(location.hash);
});

/** @param {string[]} path @param {Record<string, string>} [query] @returns {string} The link, without empty values. */
export function link(path, query = {}) {
  const given = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== ""));
  const text = given.toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** @param {string} target A link. */
export function go(target) {
  location.hash = target;
}

/** Changes the fragment without an entry in the history: for what is typed, and for what must not stay there.
 * @param {string} target */
export function replace(target) {
  history.replaceState(null, "", target);
  place.value = parsePlace(target);
}
