/** The collections of a project, and the two ways to make one: by hand, and of a file. */
import { pathOf, useCollections } from "../app/collections.js";
import { html } from "../app/html.js";
import { link } from "../app/router.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { number, Time } from "../app/texts.js";
import { CollectionButtons } from "../parts/collection-buttons.js";
import { Icon } from "../parts/icon.js";
import { Empty, Loaded } from "../parts/states.js";

/** @param {{ project: string }} given */
export default function Data({ project }) {
  const loading = useCollections(project);
  const collections = loading.data;
  const buttons = html`<${CollectionButtons} project=${project} />`;
  return html`<main class="main"><${Bar} title="Data" count=${collections ? number(collections.length) : ""}>${buttons}<//>
    <div class="page"><div class="page-inner"><${Loaded} loading=${loading}>
      ${collections?.length === 0 && html`<${None} project=${project} buttons=${buttons} />`}
      ${collections && collections.length > 0 && html`<div class="table-box"><table class="table table-rows"><thead><tr><th>Name</th><th>Fields</th><th class="wide">Live</th><th class="wide">Created</th><th class="wide">Schema changed</th></tr></thead>
        <tbody>${collections.map(({ name, schema, realtime, created_at, updated_at }) => html`<tr key=${name}>
          <td class="fill"><a class="row" href=${link(["projects", project, "data", name])}><${Icon} name="database" /><b class="cut" dir="auto">${name}</b></a></td>
          <td><a href=${link(["projects", project, "data", name, "schema"])}>${number(Object.keys(schema).length)}</a></td>
          <td class="wide">${realtime ? html`<span class="badge badge-good">live</span>` : ""}</td><td class="wide"><${Time} at=${created_at} day /></td><td class="wide"><${Time} at=${updated_at} day /></td></tr>`)}</tbody></table></div>`}<//>
    </div></div>
  </main>`;
}

/** @param {{ project: string, buttons: unknown }} given */
function None({ project, buttons }) {
  const curl = `curl -X POST "$URL/admin/v1/${pathOf(project)}/api/collections" \\\n  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\\n  -d '{"name": "books", "schema": {"title": {"type": "string"}}}'`;
  return html`<${Empty} icon="database" title="No collections yet"><p>A collection holds documents, by a schema. A file of CSV can make one.</p>
    ${allows(project, "schema", "write") && html`<div class="row">${buttons}</div><pre class="code" tabindex="0" role="group" aria-label="The same as a command">${curl}</pre>`}<//>`;
}
