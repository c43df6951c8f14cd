/** The saved aggregations of a project as charts. */
import { call } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { go, link } from "../app/router.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { number } from "../app/texts.js";
import { readForm, readForms } from "../parts/chart-forms.js";
import { Icon } from "../parts/icon.js";
import { SavedChart } from "../parts/saved-chart.js";
import { Empty, Loaded } from "../parts/states.js";

/** @param {{ project: string }} given */
export default function Charts({ project }) {
  const loading = useLoading(async (signal) => {
    const [{ aggregations }, forms] = await Promise.all([call(`${pathOf(project)}/api/aggregations`, { signal }), readForms(project, signal)]);
    return { saved: aggregations, forms };
  }, [project]);
  const { saved, forms } = loading.data ?? {};
  const button = allows(project, "data") && html`<button class="button button-primary" onClick=${() => go(link(["projects", project, "charts", "new"]))}><${Icon} name="plus" />New chart</button>`;
  return html`<main class="main"><${Bar} title="Charts" count=${saved ? number(saved.length) : ""}>${button}<//>
    <div class="page"><div class="page-inner"><${Loaded} loading=${loading}>
      ${saved?.length === 0 && html`<${Empty} icon="chart-column" title="No charts yet"><p>A chart groups the documents of a collection, or users. It is saved as an aggregation, which apps can run by its name.</p>${button}
        <pre class="code" tabindex="0" aria-label="The same as a command">curl -X PUT "$URL/api/aggregations/by_city" -H "x-api-key: $API_KEY" …</pre><//>`}
      ${saved && saved.length > 0 && html`<div class="charts">${saved.map((/** @type {any} */ each) => html`<${SavedChart} key=${each.name} project=${project} saved=${each} form=${readForm(forms?.get(each.name))} />`)}</div>`}
    <//></div></div></main>`;
}
