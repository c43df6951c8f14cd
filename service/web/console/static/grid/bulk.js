/** Several records at once: a dry run says how many and which, then the change is sent with that count. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { announce } from "../app/announcements.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { number } from "../app/texts.js";
import { Dialog } from "../parts/dialog.js";
import { Alert, DialogFoot, useForm } from "../parts/form.js";
import { Loaded } from "../parts/states.js";
import { isEditable, readTyped } from "./editing.js";

/** @typedef {import("./columns.js").Column} Column */

// The most values that an `_in` takes.
const IDS = 500;

/** @param {object} where @param {string[]} ids The selected ones, if there are any.
 * @returns {object[]} Conditions, each of as many ids as one may name. */
const conditionsOf = (where, ids) => (!ids.length ? [where] : Array.from({ length: Math.ceil(ids.length / IDS) }, (_, at) => ({ id_in: ids.slice(at * IDS, (at + 1) * IDS) })));

/** Sends a change of many; a call changes at most 10,000, and names the next.
 * @param {string} path @param {object} body @param {number} expect @returns {Promise<number>} */
async function sendOne(path, body, expect) {
  let done = 0;
  let cursor = "";
  do {
    const answer = await call(path, { method: "POST", query: { cursor }, body: cursor ? body : { ...body, expect } });
    done += answer.changed ?? answer.deleted ?? answer.matched;
    cursor = answer.next ?? "";
  } while (cursor);
  return done;
}

/** One condition after the other, each with the count of its own dry run.
 * @param {string} path @param {object[]} wheres @param {object} change @param {number[]} counts @returns {Promise<number>} */
async function sendAll(path, wheres, change, counts) {
  let done = 0;
  for (const [at, where] of wheres.entries()) if (counts[at]) done += await sendOne(path, { where, ...change }, counts[at]);
  return done;
}

/** What dry runs find. @param {string} path @param {object[]} wheres @param {object} change */
const useDryRun = (path, wheres, change) => useLoading(async (signal) => {
  const found = [];
  for (const where of wheres) found.push(await call(path, { method: "POST", query: { dry_run: "true" }, body: { where, ...change }, isRead: true, signal }));
  const counts = found.map(({ matched }) => matched);
  return { counts, matched: counts.reduce((sum, each) => sum + each, 0), sample: found[0].sample };
}, [path, JSON.stringify([wheres, change])]);

/** @param {{ counted: any, verb: string }} given */
function Counted({ counted, verb }) {
  return html`<p>${verb} <b>${number(counted.matched)}</b> ${counted.matched === 1 ? "document" : "documents"}.</p>
    <p class="small faint">${counted.sample.map((/** @type {string} */ each) => html`<code class="id" key=${each}>${each} </code>`)}${counted.matched > counted.sample.length && "…"}</p>`;
}

/** @param {{ path: string, where: object, ids: string[], close: () => void, done: () => void }} given `path` is the collection's. */
export function BulkDelete({ path, where, ids, close, done }) {
  const wheres = conditionsOf(where, ids);
  const loading = useDryRun(`${path}/delete`, wheres, {});
  const form = useForm({}, async () => {
    announce(`${number(await sendAll(`${path}/delete`, wheres, {}, loading.data?.counts ?? []))} deleted`);
    close();
    done();
  });
  return html`<${Dialog} title="Delete documents" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
      <${Loaded} loading=${loading}>${loading.data && html`<${Counted} counted=${loading.data} verb="This deletes" /><p class="soft">It cannot be undone.</p>`}<//></div>
    <div class="dialog-foot"><button class="button" type="button" onClick=${close}>Cancel</button>
      <button class="button button-danger" aria-disabled=${form.isBusy} disabled=${!loading.data?.matched}>Delete</button></div></form><//>`;
}

/** @param {{ path: string, where: object, ids: string[], columns: Column[], close: () => void, done: () => void }} given */
export function BulkEdit({ path, where, ids, columns, close, done }) {
  const wheres = conditionsOf(where, ids);
  const fields = columns.filter(isEditable);
  const [field, choose] = useState(fields[0]?.field ?? "");
  const [text, setText] = useState("");
  const definition = fields.find((each) => each.field === field)?.definition ?? null;
  const value = readTyped(text, definition);
  const change = value === undefined ? { unset: [field] } : { data: { [field]: value } };
  const loading = useDryRun(`${path}/update`, wheres, { unset: fields[0] ? [fields[0].field] : [] });
  const form = useForm({}, async () => {
    announce(`${number(await sendAll(`${path}/update`, wheres, change, loading.data?.counts ?? []))} changed`);
    close();
    done();
  });
  const choices = definition?.type === "boolean" ? ["true", "false"] : definition?.enum?.map(String);
  const set = (/** @type {Event} */ event) => setText(/** @type {HTMLInputElement} */ (event.currentTarget).value);
  return html`<${Dialog} title="Edit documents" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
      <label class="field field-above"><span class="field-label">Field</span><select class="input" onChange=${(/** @type {Event} */ event) => { choose(/** @type {HTMLSelectElement} */ (event.currentTarget).value); setText(""); }}>
        ${fields.map((each) => html`<option key=${each.field} value=${each.field} selected=${each.field === field}>${each.title}</option>`)}</select></label>
      <label class="field field-above"><span class="field-label">New value</span>${choices
        ? html`<select class="input" onChange=${set}>${["", ...choices].map((each) => html`<option key=${each} value=${each} selected=${each === text}>${each || "none"}</option>`)}</select>`
        : html`<input class="input" dir="auto" value=${text} onInput=${set} />`}<span class="field-hint">${value === undefined ? "The field is removed." : ""}</span></label>
      <${Loaded} loading=${loading}>${loading.data && html`<${Counted} counted=${loading.data} verb="This changes" />`}<//></div>
    <${DialogFoot} form=${form} action="Change" close=${close} /></form><//>`;
}
