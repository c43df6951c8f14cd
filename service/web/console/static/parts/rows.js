/** Runs an aggregation and shows its chart and its rows. */
import { ApiError, call } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { number } from "../app/texts.js";
import { fillParameters } from "./aggregate.js";
import { Chart, draw, label } from "./chart.js";
import { Icon } from "./icon.js";
import { Empty, Loaded } from "./states.js";

/** @typedef {import("./builder.js").Draft} Draft */

/** @param {string} project @param {Draft} draft
 * @returns {import("../app/loading.js").Loading<{ rows: any[], faults: string[] }>} `faults` say which part is refused. */
export function useRows(project, { source, aggregate, parameters, samples }) {
  const body = fillParameters(aggregate, samples, parameters);
  const path = source === "users" ? "auth-collections/users/aggregate" : `api/collections/${encodeURIComponent(source)}/aggregate`;
  return useLoading(async (signal) => {
    if (!source) return { rows: [], faults: [] };
    try {
      return { rows: (await call(`${pathOf(project)}/${path}`, { method: "POST", body, signal, isRead: true })).rows, faults: [] };
    } catch (error) {
      if (!(error instanceof ApiError) || ![400, 409, 422].includes(error.status)) throw error;
      return { rows: [], faults: error.faults.length ? error.faults.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`) : [error.message] };
    }
  }, [project, source, JSON.stringify(body)]);
}

/** @param {{ loading: ReturnType<typeof useRows>, draft: Draft, kind: string, name: string }} given */
export function Result({ loading, draft, kind, name }) {
  const { rows = [], faults = [] } = loading.data ?? {};
  const columns = [...Object.keys(draft.aggregate.group ?? {}), ...Object.keys(draft.aggregate.values ?? {})];
  return html`<${Loaded} loading=${loading}>
    ${faults.length > 0 && html`<div class="result result-bad plot-faults" role="alert"><${Icon} name="circle-x" /><div><b>This cannot be run</b>${faults.map((text) => html`<p key=${text} dir="auto">${text}</p>`)}</div></div>`}
    ${faults.length === 0 && rows.length === 0 && html`<${Empty} icon="chart-column" title="No rows"><p>No document is in a group.</p><//>`}
    ${rows.length > 0 && html`<div class="plot-box"><${Chart} drawing=${draw(rows, draft.aggregate)} kind=${kind} name=${name} /></div>
      <div class="table-box" tabindex="0" role="region" aria-label="Rows"><${Rows} rows=${rows} columns=${columns} group=${draft.aggregate.group ?? {}} /></div>`}<//>`;
}

/** @param {{ rows: any[], columns: string[], group: Record<string, any> }} given */
function Rows({ rows, columns, group }) {
  return html`<table class="table table-rows table-numbers"><thead><tr>${columns.map((name) => html`<th key=${name} class=${name in group ? "" : "number"} dir="auto">${name}</th>`)}</tr></thead>
    <tbody>${rows.map((row, index) => html`<tr key=${index}>${columns.map((name) => html`<td key=${name} class=${name in group ? "" : "number"} dir="auto">${name in group ? label(row[name], group[name])
      : typeof row[name] === "number" ? number(row[name]) : label(row[name])}</td>`)}</tr>`)}</tbody></table>`;
}
