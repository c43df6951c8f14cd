/** What a change found and what it left, side by side. */
import { html } from "../app/html.js";

/** @param {any} value @returns {unknown} */
function show(value) {
  if (value === null || value === undefined) return html`<span class="none">absent</span>`;
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** @param {{ changes: { path: (string | number)[], before: any, after: any }[] }} given */
export function Difference({ changes }) {
  return html`<div class="stack differences">${changes.map(({ path, before, after }) => html`<div class="change" key=${path.join("/")} role="group" aria-label=${path.join(" ")}>
    <div class="change-path" dir="auto">${path.join(" / ")}</div>
    <pre class="change-before" dir="auto"><span class="unseen">Before: </span>${before === null ? show(before) : html`<del>${show(before)}</del>`}</pre>
    <pre class="change-after" dir="auto"><span class="unseen">After: </span>${after === null ? show(after) : html`<ins>${show(after)}</ins>`}</pre></div>`)}</div>`;
}
