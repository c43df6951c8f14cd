/** Documents as the user sees them: the public API answers to the acting token, by the rules. */
import { useState } from "preact/hooks";
import { readCollections } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { addressOf } from "../app/texts.js";
import { Dialog } from "./dialog.js";
import { Editor, writeJson } from "./editor.js";
import { Loaded } from "./states.js";

const BASE = new URL("../api/collections/", document.baseURI);
const SHOWN = 20;

/** @param {string} token @param {string} collection @param {AbortSignal} signal @returns {Promise<any>} The answer, also where it refuses. */
async function readAs(token, collection, signal) {
  const url = new URL(`${encodeURIComponent(collection)}/documents?limit=${SHOWN}&count=false`, BASE);
  return (await fetch(url, { headers: { authorization: `Bearer ${token}` }, credentials: "omit", cache: "no-store", signal })).json();
}

/** @param {{ acting: { project: string, token: string, user: any }, close: () => void }} given */
export function SeenAs({ acting, close }) {
  const names = useLoading(async () => (await readCollections(acting.project)).map(({ name }) => name), [acting.project]);
  const [chosen, choose] = useState("");
  const name = chosen || (names.data?.[0] ?? "");
  const loading = useLoading(async (signal) => (name ? readAs(acting.token, name, signal) : null), [name]);
  return html`<${Dialog} title=${`Data as ${addressOf(acting.user)} sees it`} close=${close} size="wide"><div class="dialog-body">
      <label class="field field-above"><span class="field-label">Collection</span><select class="input" onChange=${(/** @type {Event} */ event) => choose(/** @type {HTMLSelectElement} */ (event.currentTarget).value)}>
        ${(names.data ?? []).map((each) => html`<option key=${each} value=${each} selected=${each === name}>${each}</option>`)}</select></label>
      <${Loaded} loading=${loading}><div class="seen-as"><${Editor} label="The answer" value=${writeJson(loading.data?.documents ?? loading.data)} readonly rows=${6} /></div><//></div>
    <div class="dialog-foot"><button class="button" onClick=${close}>Close</button></div><//>`;
}
