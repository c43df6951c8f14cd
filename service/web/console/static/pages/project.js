/** One project: its name, what it has, and its end. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { go } from "../app/router.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { Time } from "../app/texts.js";
import { CollectionButtons } from "../parts/collection-buttons.js";
import { Dialog } from "../parts/dialog.js";
import { Alert, DialogFoot, Field, useForm } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { Day, Errors, Pins, Todo } from "../parts/overview.js";
import { Empty, Loaded } from "../parts/states.js";

/** @param {{ project: string }} given Its id. */
export default function Project({ project }) {
  const [opened, open] = useState("");
  const path = `projects/${encodeURIComponent(project)}`;
  const loading = useLoading(async (signal) => {
    const [found, held] = await Promise.all([call(path, { signal }), call(`${path}/api/collections`, { signal })]);
    return { ...found, collections: held.collections };
  }, [project]);
  const found = loading.data;
  const close = () => open("");
  return html`<main class="main"><${Bar} title="Overview" />
    <div class="page"><div class="page-inner stack"><${Loaded} loading=${loading}>${found && html`<div class="stack">
      <div class="person"><h2 class="cut" dir="auto">${found.name}</h2><span class="id">${found.id}</span><span class="badge">${found.role}</span>
        ${allows(project, "config", "write") && html`<button class="button push" onClick=${() => open("rename")}>Rename</button>`}</div>
      ${allows(project, "logs") && html`<${Day} project=${project} />`}
      ${allows(project, "data") && html`<${Pins} project=${project} />`}
      <${Todo} project=${project} collections=${found.collections} />
      <section class="card" aria-labelledby="collections"><div class="card-head"><h2 id="collections">Collections</h2></div>
        ${found.collections.length ? found.collections.map((/** @type {any} */ each) => html`<div class="listing" key=${each.name}><${Icon} name="database" />
          <span dir="auto">${each.name}</span><span class="push faint">${Object.keys(each.schema ?? {}).length} fields</span></div>`)
          : html`<${Empty} icon="database" title="No collections yet"><p>A collection holds documents, by a schema. A file of CSV can make one.</p><div class="row"><${CollectionButtons} project=${project} /></div><//>`}
      </section>
      ${allows(project, "logs") && html`<${Errors} project=${project} />`}
      <section class="card" aria-labelledby="about"><div class="card-head"><h2 id="about">About</h2></div><div class="card-body">
        <dl class="facts"><dt>Id</dt><dd><code>${found.id}</code></dd><dt>Created</dt><dd><${Time} at=${found.created_at} /></dd></dl></div>
        ${allows("*", "deployment", "write") && html`<div class="listing"><div><b>Delete the project</b><p>With its users, documents, files and keys.</p></div>
          <button class="button button-quiet is-danger push" onClick=${() => open("delete")}>Delete</button></div>`}</section>
    </div>`}<//></div></div>
    ${opened === "rename" && html`<${Rename} path=${path} name=${found?.name ?? ""} close=${close} done=${loading.reload} />`}
    ${opened === "delete" && html`<${Deletion} path=${path} name=${found?.name ?? ""} close=${close} />`}
  </main>`;
}

/** @param {{ path: string, name: string, close: () => void, done: () => void }} given */
function Rename({ path, name, close, done }) {
  const form = useForm({ name }, async (body) => {
    await call(path, { method: "PATCH", body });
    close();
    done();
  });
  return html`<${Dialog} title="Rename the project" close=${close}><form onSubmit=${form.submit}>
    <div class="dialog-body"><${Alert} form=${form} /><${Field} form=${form} name="name" label="Name" autofocus /></div>
    <${DialogFoot} form=${form} action="Rename" close=${close} /></form><//>`;
}

/** @param {{ path: string, name: string, close: () => void }} given */
function Deletion({ path, name, close }) {
  const form = useForm({ confirm: "" }, async (body) => {
    await call(`${path}/deletion`, { method: "POST", body });
    close();
    go("#/");
  });
  return html`<${Dialog} title="Delete the project" close=${close}><form onSubmit=${form.submit}>
    <div class="dialog-body"><p class="soft">Its keys and tokens are refused at once, and its data is gone within a minute. This cannot be undone.</p>
      <${Alert} form=${form} /><${Field} form=${form} name="confirm" label="The project's name" hint=${`Type: ${name}`} autofocus /></div>
    <div class="dialog-foot"><button class="button" type="button" onClick=${close}>Cancel</button>
      <button class="button button-danger" aria-disabled=${form.isBusy} disabled=${form.values.confirm !== name}>Delete</button></div></form><//>`;
}
