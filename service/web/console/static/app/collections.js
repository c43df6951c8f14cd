/** The collections of a project, which the sidebar and the pages on data share: one request for all of them. */
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { call } from "./api.js";
import { html } from "./html.js";
import { useLoading } from "./loading.js";
import { link, place } from "./router.js";

/** @typedef {"string" | "integer" | "number" | "boolean" | "datetime" | "object" | "array" | "any" | "reference" | "file"} FieldType */
/** @typedef {{ type: FieldType, required?: boolean, unique?: boolean, index?: boolean, nullable?: boolean, default?: unknown,
 *   collection?: string, enum?: unknown[], items?: any, properties?: Record<string, any>, variants?: Record<string, any>,
 *   [option: string]: unknown }} Definition */
/** @typedef {{ name: string, schema: Record<string, Definition>, realtime: boolean, unique?: string[][], indexes?: string[][],
 *   created_at: string, updated_at: string }} Collection */

const FRESH_MS = 5_000;
/** The dialogs that make a collection: by hand, or of a file. The shell shows them over any page of a project. */
export const making = signal(/** @type {"" | "new" | "import"} */ (""));
/** The collection that was opened last, which a new chart begins with. */
export const lastOpened = { project: "", name: "" };
const version = signal(0);
const shown = signal({ project: "", collections: /** @type {Collection[]} */ ([]) });
/** @type {{ project: string, at: number, answer: Promise<Collection[]> | null }} */
let held = { project: "", at: 0, answer: null };

/** @param {string} project @returns {Promise<Collection[]>} */
async function request(project) {
  const { collections } = await call(`${pathOf(project)}/api/collections`);
  shown.value = { project, collections };
  return collections;
}

/** @param {string} project @returns {Promise<Collection[]>} */
export function readCollections(project) {
  if (held.project === project && held.answer && Date.now() - held.at < FRESH_MS) return held.answer;
  const answer = request(project);
  held = { project, at: Date.now(), answer };
  answer.catch(() => {
    if (held.answer === answer) held.answer = null;
  });
  return answer;
}

/** Each part that shows collections reads them again after a change. */
export function forgetCollections() {
  held.answer = null;
  version.value += 1;
}

/** @param {string} project */
export const useCollections = (project) => useLoading(() => readCollections(project), [project, version.value]);

/** @param {string} project @returns {`projects/${string}`} The path of its rows, below /admin/v1/. */
export const pathOf = (project) => `projects/${encodeURIComponent(project)}`;

/** @param {string} project @param {string} collection @returns {`projects/${string}/api/collections/${string}`} */
export const pathOfCollection = (project, collection) => `${pathOf(project)}/api/collections/${encodeURIComponent(collection)}`;

/** @param {{ project: string, hide: () => void }} given */
export function CollectionLinks({ project, hide }) {
  useEffect(() => {
    readCollections(project).catch(() => undefined);
  }, [project, version.value]);
  const { path } = place.value;
  const collections = shown.value.project === project ? shown.value.collections : [];
  if (!collections.length) return null;
  return html`<div class="sidebar-sub">${collections.map(({ name }) => html`<a key=${name} class="sidebar-link" onClick=${hide} dir="auto"
    href=${link(["projects", project, "data", name])} aria-current=${path[2] === "data" && path[3] === name ? "page" : null}><span class="cut">${name}</span></a>`)}</div>`;
}
