/** The filter of a grid, as chips. */
import { useState } from "preact/hooks";
import { html } from "../app/html.js";
import { Icon } from "../parts/icon.js";
import { later } from "../parts/later.js";
import { describe, readFilter, writeFilter } from "./query.js";

/** @typedef {{ path: string, kind: string }} Field */

const FilterDialog = later(() => import("./filter-dialog.js"), "FilterDialog");

/** @param {{ where: any, change: (where: object) => void, fields: Field[] }} given */
export function FilterChips({ where, change, fields }) {
  const [isOpen, open] = useState(false);
  const filter = readFilter(where);
  const drop = (/** @type {number} */ at) => filter && change(writeFilter({ ...filter, conditions: filter.conditions.filter((_, index) => index !== at) }));
  return html`
    ${filter?.conditions.map((condition, at) => {
      const [field, words, value] = describe(condition);
      return html`${at > 0 && filter.any && html`<span class="faint small">or</span>`}<span class="chip is-on" key=${at}>
        <button class="chip-open" onClick=${() => open(true)}><b dir="auto">${field}</b><span class="chip-word">${words}</span>${value && html`<b class="cut chip-value" dir="auto">${value}</b>`}</button>
        <button class="chip-close" aria-label=${`Remove the filter of ${field}`} onClick=${() => drop(at)}><${Icon} name="x" small /></button></span>`;
    })}
    ${!filter && html`<span class="chip is-on"><button class="chip-open" onClick=${() => open(true)}><code class="cut chip-value">${JSON.stringify(where)}</code></button>
      <button class="chip-close" aria-label="Remove the filter" onClick=${() => change({})}><${Icon} name="x" small /></button></span>`}
    <button class="chip chip-add" data-filter onClick=${() => open(true)}><${Icon} name="plus" small />Filter</button>
    ${isOpen && html`<${FilterDialog} where=${where} fields=${fields} change=${change} close=${() => open(false)} />`}`;
}
