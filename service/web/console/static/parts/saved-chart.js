/** A saved aggregation as a card. One whose parameters have no values to run with is only named. */
import { html } from "../app/html.js";
import { link } from "../app/router.js";
import { Chart, draw } from "./chart.js";
import { useRows } from "./rows.js";
import { Loaded } from "./states.js";

/** @param {Record<string, any>} aggregate @returns {string} The chart that suits it. */
export function suggestKind({ group = {} }) {
  const [first] = Object.values(group);
  return first === undefined ? "number" : first.every && first.every !== "year" ? "line" : "bar";
}

/** @param {{ project: string, saved: any, form: import("./chart-forms.js").Form }} given */
export function SavedChart({ project, saved, form }) {
  const { name, collection, aggregate, parameters } = saved;
  const needs = Object.keys(parameters).filter((each) => !form.samples[each]);
  return html`<section class="card" aria-label=${name}><div class="card-head"><h2 class="cut"><a href=${link(["projects", project, "charts", name])} dir="auto">${name}</a></h2><span class="push faint small">${collection}</span></div>
    <div class="card-body">${needs.length ? html`<p class="soft">It runs with ${needs.map((each) => html`<code key=${each}>$${each}</code> `)}, which an app gives. Open it to try values.</p>`
      : html`<${Drawn} project=${project} saved=${{ source: collection, aggregate, parameters, samples: form.samples }} kind=${form.chart || suggestKind(aggregate)} name=${name} />`}</div></section>`;
}

/** @param {{ project: string, saved: import("./builder.js").Draft, kind: string, name: string }} given */
function Drawn({ project, saved, kind, name }) {
  const loading = useRows(project, saved);
  const { rows = [], faults = [] } = loading.data ?? {};
  return html`<${Loaded} loading=${loading}>${faults.length ? html`<p class="bad">${faults.join(" ")}</p>` : rows.length
    ? html`<${Chart} drawing=${draw(rows, saved.aggregate)} kind=${kind} name=${name} height=${200} />` : html`<p class="soft">No rows.</p>`}<//>`;
}
