/** The answer of a dry run of a schema: what would be repaired, what stands in the way, and where to look at it. */
import { html } from "../app/html.js";
import { link } from "../app/router.js";
import { number } from "../app/texts.js";
import { Icon } from "./icon.js";

/** @param {{ project: string, collection: { name: string }, preview: import("../pages/schema.js").Preview | null, rows: import("../pages/schema.js").Row[] }} given */
export function DryRun({ project, collection, preview, rows }) {
  if (!preview) return html`<p class="soft" role="status">Asking what saving would do.</p>`;
  if (preview.error) return html`<${Refused} error=${preview.error} />`;
  const { applies, repairs, conflicts } = preview.answer;
  const defaults = rows.filter(({ definition, before, isRemoved }) => !isRemoved && definition.default !== undefined && JSON.stringify(definition) !== JSON.stringify(before));
  return html`<div class="stack-small" role="status">
    ${applies ? html`<p class="result result-good"><${Icon} name="circle-check" /><b>It can be saved</b></p>`
      : html`<div class="result result-bad"><${Icon} name="circle-x" /><div><b>${number(conflicts.total)} ${conflicts.total === 1 ? "document breaks" : "documents break"} the new schema</b><p>Nothing is saved until none does.</p></div></div>`}
    ${!applies && html`<section class="panel-section"><div class="row"><h3>Conflicts</h3><span class="push faint small">${number(conflicts.documents.length)} of ${number(conflicts.total)}</span></div>
      ${conflicts.documents.map((/** @type {any} */ each) => html`<a class="conflict conflict-wide" key=${each.id} href=${link(["projects", project, "data", collection.name], { record: each.id })}>
        <span class="id">${each.id.slice(-6)}</span><span class="cut" dir="auto" title=${each.errors[0]?.msg}>${each.errors[0]?.loc.slice(1).join(".")}: ${each.errors[0]?.msg}</span><${Icon} name="arrow-up-right" small /></a>`)}</section>`}
    <section class="panel-section"><h3>Repairs</h3>
      ${repairs > 0 ? html`<p class="row-top"><${Icon} name="circle-check" tone="good" /><span>${number(repairs)} ${repairs === 1 ? "document gets" : "documents get"} ${defaults.map(({ name, definition }) => html`<code key=${name}>${name}: ${JSON.stringify(definition.default)} </code>`)}</span></p>` : html`<p class="soft">No document is touched.</p>`}</section></div>`;
}

/** @param {{ error: import("../app/api.js").ApiError }} given */
function Refused({ error }) {
  const places = error.body?.rules ?? error.body?.failed ?? [];
  return html`<div class="result result-bad" role="alert"><${Icon} name="circle-x" /><div><b>${error.message}</b>
    ${error.faults.map(({ loc, msg }) => html`<p key=${loc.join()} dir="auto"><code>${loc.slice(loc[1] === "schema" ? 2 : 1).join(".")}</code> ${msg}</p>`)}
    ${places.map((/** @type {any} */ each, /** @type {number} */ at) => html`<p key=${at} dir="auto"><code>${Array.isArray(each.loc ?? each) ? (each.loc ?? each).join(".") : (each.name ?? JSON.stringify(each))}</code> ${each.msg ?? ""}</p>`)}</div></div>`;
}
