/** The collections of a project, and the two ways to make one: by hand, and of a file. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { forgetCollections, pathOf, useCollections } from "../app/collections.js";
import { html } from "../app/html.js";
import { go, link } from "../app/router.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { number, Time } from "../app/texts.js";
import { Dialog } from "../parts/dialog.js";
import { Alert, DialogFoot, Field, useForm } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { later } from "../parts/later.js";
import { Empty, Loaded } from "../parts/states.js";

const ImportDialog = later(() => import("../parts/import.js"), "ImportDialog");

/** @param {{ project: string }} given */
export default function Data({ project }) {
  const [opened, open] = useState("");
  const loading = useCollections(project);
  const collections = loading.data;
  const mayMake = allows(project, "schema", "write");
  const mayImport = mayMake && allows(project, "data", "write");
  const buttons = html`${mayImport && html`<button class="button" onClick=${() => open("import")}><${Icon} name="upload" />Import</button>`}
    ${mayMake && html`<button class="button button-primary" onClick=${() => open("new")}><${Icon} name="plus" />New collection</button>`}`;
  return html`<main class="main"><${Bar} title="Data" count=${collections ? number(collections.length) : ""}>${buttons}<//>
    <div class="page"><div class="page-inner"><${Loaded} loading=${loading}>
      ${collections?.length === 0 && html`<${None} project=${project} buttons=${buttons} mayMake=${mayMake} />`}
      ${collections && collections.length > 0 && html`<div class="table-box"><table class="table table-rows"><thead><tr><th>Name</th><th>Fields</th><th class="wide">Live</th><th class="wide">Created</th><th class="wide">Schema changed</th></tr></thead>
        <tbody>${collections.map(({ name, schema, realtime, created_at, updated_at }) => html`<tr key=${name}>
          <td class="fill"><a class="row" href=${link(["projects", project, "data", name])}><${Icon} name="database" /><b class="cut" dir="auto">${name}</b></a></td>
          <td><a href=${link(["projects", project, "data", name, "schema"])}>${number(Object.keys(schema).length)}</a></td>
          <td class="wide">${realtime ? html`<span class="badge badge-good">live</span>` : ""}</td><td class="wide"><${Time} at=${created_at} day /></td><td class="wide"><${Time} at=${updated_at} day /></td></tr>`)}</tbody></table></div>`}<//>
    </div></div>
    ${opened === "new" && html`<${NewCollection} project=${project} close=${() => open("")} />`}
    ${opened === "import" && html`<${ImportDialog} project=${project} close=${() => open("")} done=${() => undefined} />`}
  </main>`;
}

/** @param {{ project: string, buttons: unknown, mayMake: boolean }} given */
function None({ project, buttons, mayMake }) {
  const curl = `curl -X POST "$URL/admin/v1/${pathOf(project)}/api/collections" \\\n  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\\n  -d '{"name": "books", "schema": {"title": {"type": "string"}}}'`;
  return html`<${Empty} icon="database" title="No collections yet"><p>A collection holds documents, by a schema. A file of CSV can make one.</p>
    ${mayMake && html`<div class="row">${buttons}</div><pre class="code" tabindex="0" role="group" aria-label="The same as a command">${curl}</pre>`}<//>`;
}

/** @param {{ project: string, close: () => void }} given */
function NewCollection({ project, close }) {
  const form = useForm({ name: "" }, async ({ name }) => {
    await call(`${pathOf(project)}/api/collections`, { method: "POST", body: { name, schema: {} } });
    forgetCollections();
    close();
    go(link(["projects", project, "data", name ?? "", "schema"]));
  });
  return html`<${Dialog} title="New collection" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
    <${Field} form=${form} name="name" label="Name" autofocus hint="Begins with a letter; letters, digits, _ and -. It stands in addresses, and stays." />
    </div><${DialogFoot} form=${form} action="Create" close=${close} /></form><//>`;
}
