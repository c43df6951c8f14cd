/** Which columns the grid shows, and its query as code. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { forgetCollections, pathOfCollection } from "../app/collections.js";
import { html } from "../app/html.js";
import { python } from "../parts/api-calls.js";
import { Dialog } from "../parts/dialog.js";
import { Alert, DialogFoot, useForm } from "../parts/form.js";
import { Copy } from "../parts/secret.js";
import { Choice } from "../parts/tabs.js";

/** @typedef {import("./columns.js").Column} Column */

/** @param {{ columns: Column[], shown: Column[], close: () => void, change: (columns: string) => void }} given */
export function ColumnsDialog({ columns, shown, close, change }) {
  const [chosen, choose] = useState(new Set(shown.map(({ path }) => path)));
  const toggle = (/** @type {string} */ path) => {
    const next = new Set(chosen);
    if (!next.delete(path)) next.add(path);
    choose(next);
  };
  const apply = (/** @type {Event} */ event) => {
    event.preventDefault();
    change(columns.map(({ path }) => path).filter((path) => chosen.has(path)).join(","));
    close();
  };
  return html`<${Dialog} title="Columns" close=${close}><form onSubmit=${apply}><div class="dialog-body dialog-list">
      ${columns.map(({ path, title }) => html`<label class="row" key=${path}><input class="check" type="checkbox" checked=${chosen.has(path)} onChange=${() => toggle(path)} /><span dir="auto">${title}</span></label>`)}
    </div><div class="dialog-foot"><button class="button" type="button" onClick=${() => { change(""); close(); }}>As at first</button><span class="push" />
      <button class="button button-primary" disabled=${chosen.size === 0}>Show</button></div></form><//>`;
}

/** The query as code of a client. @param {string} collection @param {object} where @param {string} sort @returns {Record<string, string>} */
export function codeOf(collection, where, sort) {
  const query = { where, sort_by: [sort], limit: 50 };
  const written = JSON.stringify(query, null, 2);
  const typed = JSON.stringify(where).includes(".") ? written.replace(/"where": (\{[^]*?\n  \})/, `"where": raw($1)`) : written;
  const curl = `curl "$URL/api/collections/${encodeURIComponent(collection)}/query" \\\n  -H "x-api-key: $API_KEY" -H "content-type: application/json" \\\n  -d '${JSON.stringify(query).replaceAll("'", "'\\''")}'`;
  return {
    curl,
    typescript: `const page = await client.collection(${JSON.stringify(collection)}).list(${typed});`,
    python: `page = client.collection(${JSON.stringify(collection)}).list(where=${python(where)}, sort_by=${python([sort])}, limit=50)`,
  };
}

/** @param {{ collection: string, where: object, sort: string, close: () => void }} given */
export function CopyAs({ collection, where, sort, close }) {
  const [language, choose] = useState("curl");
  const code = codeOf(collection, where, sort)[language] ?? "";
  return html`<${Dialog} title="Copy the query" close=${close} size="wide"><div class="dialog-body">
    <div class="row"><${Choice} label="Language" value=${language} choices=${{ curl: "curl", typescript: "TypeScript", python: "Python" }} choose=${choose} /><span class="push" /><${Copy} text=${code} name="the query" /></div>
    <pre class="code" tabindex="0" role="group" aria-label="The query">${code}</pre></div>
    <div class="dialog-foot"><button class="button" onClick=${close}>Close</button></div><//>`;
}

/** A collection says itself that it is live. @param {{ project: string, name: string, close: () => void, done: () => void }} given */
export function MakeLive({ project, name, close, done }) {
  const form = useForm({}, async () => {
    await call(pathOfCollection(project, name), { method: "PATCH", body: { realtime: true } });
    forgetCollections();
    close();
    done();
  });
  return html`<${Dialog} title="Make the collection live?" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
    <p>Apps and operators can then follow its documents as they change. MongoDB keeps each document as it was before a change, which costs space and time.</p></div>
    <${DialogFoot} form=${form} action="Make it live" close=${close} /></form><//>`;
}
