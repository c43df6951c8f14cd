/** The record at the right of the grid: its fields by the schema, or JSON; what refers to it; what happened to it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { announce } from "../app/announcements.js";
import { call } from "../app/api.js";
import { pathOfCollection } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { allows } from "../app/session.js";
import { labelField, labelOf } from "../grid/columns.js";
import { Conflict } from "./conflict.js";
import { Question } from "./dialog.js";
import { Editor, parseJson, writeJson } from "./editor.js";
import { Icon } from "./icon.js";
import { RecordField } from "./input.js";
import { Panel } from "./panel.js";
import { faultsOf, readChanges, storeRecord, writeField } from "./record-values.js";
import { History, Related } from "./record-sides.js";
import { Copy } from "./secret.js";
import { Loaded } from "./states.js";

/** @typedef {import("../app/collections.js").Collection} Collection */
/** `id` is empty for a new record. `guard` is asked before the record is left.
 * @typedef {{ project: string, collection: Collection, id: string, close: () => void, saved: (document: any) => void,
 *   deleted: () => void, guard: { current: (() => boolean) | null } }} Given */

const NEW = { id: "", data: {}, version: 0 };
const TABS = { fields: "Fields", json: "JSON", related: "Related", history: "History" };

/** @param {Given} given */
export function Record(given) {
  const { project, collection, id } = given;
  const path = `${pathOfCollection(project, collection.name)}/documents/${encodeURIComponent(id)}`;
  const loading = useLoading(async (signal) => (id ? call(path, { signal }) : NEW), [path]);
  const [stored, keep] = useState(/** @type {any} */ (null));
  const document = stored ?? loading.data;
  if (!document) return html`<${Panel} title="Record" close=${given.close}><div class="panel-body"><${Loaded} loading=${loading} /></div><//>`;
  return html`<${Form} key=${`${document.id} ${document.version}`} ...${given} document=${document} path=${path} keep=${keep} />`;
}

/** @param {Given & { document: any, path: string, keep: (document: any) => void }} given */
function Form({ project, collection, document: record, path, close, saved, deleted, guard, keep }) {
  const before = Object.fromEntries(Object.entries(collection.schema).map(([name, definition]) => [name, writeField(record.data[name], definition)]));
  const [typed, setTyped] = useState(before);
  const [files, setFiles] = useState(/** @type {Record<string, File[]>} */ ({}));
  const [text, setText] = useState(writeJson(record.data));
  const [tab, choose] = useState("fields");
  const [problem, setProblem] = useState(/** @type {{ faults: Record<string, string>, alert: string }} */ ({ faults: {}, alert: "" }));
  const [isBusy, setBusy] = useState(false);
  const [asked, ask] = useState("");
  const [theirs, setTheirs] = useState(/** @type {any} */ (null));
  // Escape while it is saved leaves the record when it is.
  const leaves = useRef(false);
  const body = useRef(/** @type {HTMLDivElement | null} */ (null));
  const mayWrite = allows(project, "data", "write");
  const isNew = !record.id;
  const { changes, bad } = readChanges(collection.schema, typed, before, files);
  const count = Object.keys(changes).length;
  const isDirty = count > 0;
  useEffect(() => {
    guard.current = () => isDirty;
    return () => { guard.current = null; };
  }, [isDirty]);
  useEffect(() => {
    /** @type {HTMLElement | null | undefined} */ (body.current?.querySelector("[aria-invalid=true]"))?.focus();
  }, [problem]);
  const send = async (/** @type {number} */ version, /** @type {Record<string, any>} */ sent) => {
    setBusy(true);
    setProblem({ faults: {}, alert: "" });
    try {
      const stored = await storeRecord(pathOfCollection(project, collection.name), { ...record, version }, sent);
      announce(isNew ? "Created" : "Saved");
      guard.current = null;
      if (!isNew) keep(stored);
      saved(stored);
      if (leaves.current) close();
    } catch (/** @type {any} */ error) {
      if (error.status === 412) setTheirs(await call(path));
      else setProblem(faultsOf(error));
      leaves.current = false;
    }
    setBusy(false);
  };
  const save = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (Object.keys(bad).length) setProblem({ faults: bad, alert: "" });
    else if (isDirty || isNew) send(record.version, changes);
  };
  const revert = () => { setTyped(before); setFiles({}); setText(writeJson(record.data)); setProblem({ faults: {}, alert: "" }); };
  const type = (/** @type {string} */ json) => {
    setText(json);
    const { value, mistake } = parseJson(json);
    if (mistake || !value || typeof value !== "object") return;
    setTyped(Object.fromEntries(Object.entries(collection.schema).map(([name, definition]) => [name, writeField(value[name], definition)])));
  };
  const show = (/** @type {string} */ next) => {
    if (next === "json") setText(writeJson({ ...record.data, ...Object.fromEntries(Object.entries(changes).map(([name, { value }]) => [name, value])) }));
    choose(next);
  };
  const leave = () => {
    if (isBusy) leaves.current = true;
    else if (isDirty) ask("leave");
    else close();
  };
  const remove = async () => {
    try {
      await call(path, { method: "DELETE", headers: { "if-match": `"v${record.version}"` } });
      announce("Deleted");
      guard.current = null;
      deleted();
    } catch (/** @type {any} */ error) {
      if (error.status === 412) setTheirs(await call(path));
      else setProblem(faultsOf(error));
    }
  };
  const name = labelOf(record, labelField(collection)) || (isNew ? `New in ${collection.name}` : `${record.id.slice(0, 4)}…${record.id.slice(-4)}`);
  const isNamed = labelOf(record, labelField(collection)) !== "";
  const foot = mayWrite && html`
    ${!isNew && html`<button class="button button-quiet button-icon" type="button" aria-label="Delete" onClick=${() => ask("delete")}><${Icon} name="trash-2" /></button>`}
    <span class="soft small">${isDirty ? `${count} ${count === 1 ? "field" : "fields"} changed` : ""}</span><span class="push" />
    ${isDirty && html`<button class="button" type="button" onClick=${revert}>Revert</button>`}
    <button class="button button-primary" disabled=${isBusy || (!isDirty && !isNew)} onClick=${save}>Save</button>`;
  const tabs = isNew ? ["fields", "json"] : ["fields", "json", "related", ...(allows(project, "logs") ? ["history"] : [])];
  return html`<${Panel} title=${name} name=${`Record ${name}`} close=${leave} foot=${foot}
      side=${!isNew && html`${isNamed && html`<span class="id">${record.id.slice(0, 4)}…${record.id.slice(-4)}</span>`}<${Copy} text=${record.id} name="the id" />`}>
    <div class="tabs panel-tabs" role="tablist" aria-label="Parts of the record">${tabs.map((each) => html`<button key=${each} class="tab" role="tab" type="button"
      aria-selected=${each === tab} onClick=${() => show(each)}>${TABS[/** @type {keyof typeof TABS} */ (each)]}</button>`)}</div>
    <div class="panel-body" role="tabpanel" aria-label=${TABS[/** @type {keyof typeof TABS} */ (tab)]} ref=${body}><form class="stack-form" onSubmit=${save}>
      ${problem.alert && html`<p class="form-alert" role="alert">${problem.alert}</p>`}
      ${tab === "fields" && Object.entries(collection.schema).map(([field, definition]) => html`<${RecordField} key=${field} name=${field} definition=${definition} project=${project}
        typed=${typed[field] ?? ""} before=${before[field] ?? ""} fault=${problem.faults[field] ?? ""} readonly=${!mayWrite || isBusy} stored=${record.data[field]} files=${files[field] ?? []}
        change=${(/** @type {string} */ value) => setTyped((old) => ({ ...old, [field]: value }))} attach=${(/** @type {File[]} */ chosen) => setFiles((old) => ({ ...old, [field]: chosen }))} />`)}
      ${tab === "fields" && !Object.keys(collection.schema).length && html`<p class="soft">The schema has no fields.</p>`}
      ${tab === "json" && html`<${Editor} label="Record as JSON" value=${text} change=${type} readonly=${!mayWrite} mistake=${parseJson(text).mistake} rows=${8} />
        ${Object.entries(problem.faults).map(([field, fault]) => html`<p class="field-error" key=${field}>${field}: ${fault}</p>`)}`}
      ${tab === "related" && html`<${Related} project=${project} collection=${collection} record=${record} />`}
      ${tab === "history" && html`<${History} project=${project} id=${record.id} />`}
      <button class="unseen" tabindex="-1" aria-hidden="true">Save</button>
    </form></div>
    ${asked === "leave" && html`<${Question} title="Leave the changes?" action="Discard" close=${() => ask("")} act=${close}><p>${count} ${count === 1 ? "field is" : "fields are"} not saved.</p><//>`}
    ${asked === "delete" && html`<${Question} title="Delete the record?" action="Delete" close=${() => ask("")} act=${remove}><p>It cannot be undone. References to it stay, and lead nowhere.</p><//>`}
    ${theirs && html`<${Conflict} mine=${Object.fromEntries(Object.entries(changes).map(([field, { value }]) => [field, value]))} before=${record.data} theirs=${theirs.data}
      close=${() => setTheirs(null)} save=${(/** @type {Set<string>} */ kept) => { setTheirs(null); send(theirs.version, Object.fromEntries(Object.entries(changes).filter(([field]) => kept.has(field)))); }} />`}
  <//>`;
}
