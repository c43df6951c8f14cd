/** The API keys of a project: made, listed with their last use, revoked. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { number, Time } from "../app/texts.js";
import { Dialog, Question } from "../parts/dialog.js";
import { Alert, DialogFoot, Field, Select, useForm } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { Secret } from "../parts/secret.js";
import { Loaded } from "../parts/states.js";
import { useAction } from "../parts/action.js";

/** @param {{ project: string }} given */
export default function Keys({ project }) {
  const path = `projects/${encodeURIComponent(project)}/keys`;
  const [isMaking, make] = useState(false);
  const [chosen, choose] = useState(/** @type {any} */ (null));
  const loading = useLoading((signal) => call(path, { signal }), [project]);
  const { act, notice } = useAction(loading.reload);
  const mayWrite = allows(project, "config", "write");
  const keys = loading.data?.keys;
  return html`<main class="main"><${Bar} title="Keys" count=${keys ? number(keys.length) : ""}>
      ${mayWrite && html`<button class="button button-primary" onClick=${() => make(true)}><${Icon} name="plus" />New key</button>`}<//>
    <div class="page"><div class="page-inner">${notice}<p class="soft">A secret key is for servers: it may do everything in the project. A publishable key is for pages and apps: it may do what the rules allow.</p>
      <${Loaded} loading=${loading}>${keys && html`<div class="table-box"><table class="table"><thead><tr><th>Name</th><th>Kind</th><th>Created</th><th>Last use</th><th><span class="unseen">Actions</span></th></tr></thead>
        <tbody>${keys.map((/** @type {any} */ key) => html`<tr key=${key.id}><td dir="auto">${key.name || html`<span class="faint">first</span>`} <span class="id">${key.id}</span></td>
          <td><span class=${`badge ${key.kind === "secret" ? "badge-warn" : ""}`}>${key.kind}</span></td>
          <td><${Time} at=${key.created_at} day /></td><td><${Time} at=${key.last_used_at} /></td>
          <td class="number">${mayWrite && html`<button class="button button-small" aria-label=${`Revoke ${key.name || key.id}`} onClick=${() => choose(key)}>Revoke</button>`}</td></tr>`)}</tbody></table></div>`}<//>
    </div></div>
    ${isMaking && html`<${NewKey} path=${path} close=${() => make(false)} made=${loading.reload} />`}
    ${chosen && html`<${Question} title="Revoke the key" action="Revoke" close=${() => choose(null)}
      act=${() => act(() => call(`${path}/${chosen.id}`, { method: "DELETE" }))}>
      <p>Within five seconds the service refuses it. Programs that send it stop working.</p><//>`}
  </main>`;
}

/** @param {{ path: string, close: () => void, made: () => void }} given */
function NewKey({ path, close, made }) {
  const [key, setKey] = useState(/** @type {any} */ (null));
  const form = useForm({ name: "", kind: "secret" }, async (body) => {
    setKey(await call(path, { method: "POST", body }));
    made();
  });
  if (key)
    return html`<${Dialog} title="The new key" close=${close}><div class="dialog-body"><p class="soft">It is not shown again.</p>
      <${Secret} name="Key" text=${key.key} /></div>
      <div class="dialog-foot"><button class="button button-primary" onClick=${close}>I have kept it</button></div><//>`;
  return html`<${Dialog} title="New key" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
    <${Field} form=${form} name="name" label="Name" autofocus />
    <${Select} form=${form} name="kind" label="Kind" choices=${{ secret: "Secret, for servers", publishable: "Publishable, for pages and apps" }} />
    </div><${DialogFoot} form=${form} action="Create key" close=${close} /></form><//>`;
}
