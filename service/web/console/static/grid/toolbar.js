/** What stands above the grid: the parts of a collection, and the order. */
import { html } from "../app/html.js";
import { link } from "../app/router.js";
import { allows } from "../app/session.js";
import { Icon } from "../parts/icon.js";
import { Tabs } from "../parts/tabs.js";

/** @typedef {import("./columns.js").Column} Column */
const ORDERED = new Set(["string", "integer", "number", "boolean", "datetime"]);

/** @param {{ project: string, collection: string, current: string }} given */
export function CollectionTabs({ project, collection, current }) {
  const path = ["projects", project, "data", collection];
  const tabs = [["Documents", ""], ["Schema", "schema"], ["Rules", "rules"], ["API", "api"]];
  const open = allows(project, "schema") ? tabs : tabs.filter(([, part]) => !part || part === "api");
  return html`<${Tabs} label="Parts of the collection" tabs=${open.map(([text = "", part = ""]) => ({ text, target: link(part ? [...path, part] : path), isCurrent: part === current }))} />`;
}

/** @param {{ columns: Column[], sort: string, change: (sort: string) => void }} given */
export function SortSelect({ columns, sort, change }) {
  const field = sort.replace(/^-/, "");
  const isDown = sort.startsWith("-");
  const sorted = columns.filter(({ kind }) => ORDERED.has(kind)).map(({ path }) => path);
  return html`<label class="row"><span class="unseen">Sort by</span><select class="input input-small sort-select" onChange=${(/** @type {Event} */ event) => change((isDown ? "-" : "") + /** @type {HTMLSelectElement} */ (event.currentTarget).value)}>
      ${[...new Set([...sorted, field])].map((path) => html`<option key=${path} value=${path} selected=${path === field}>${path}</option>`)}</select></label>
    <button class="button button-quiet button-small button-icon" aria-label=${isDown ? "Descending; sort ascending" : "Ascending; sort descending"} onClick=${() => change(isDown ? field : `-${field}`)}>
      <${Icon} name=${isDown ? "arrow-down-wide-narrow" : "chevron-up"} /></button>`;
}
