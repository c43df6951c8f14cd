/** The schema of a collection: its fields in a table or as JSON, and what saving would do, before it is saved. */
import { useEffect, useState } from "preact/hooks";
import { announce } from "../app/announcements.js";
import { ApiError, call } from "../app/api.js";
import { forgetCollections, pathOfCollection } from "../app/collections.js";
import { html } from "../app/html.js";
import { go, link } from "../app/router.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { number } from "../app/texts.js";
import { CollectionTabs } from "../grid/toolbar.js";
import { changedCompounds, CompoundLists, compoundsOf } from "../parts/compounds.js";
import { Dialog } from "../parts/dialog.js";
import { Editor, parseJson, writeJson } from "../parts/editor.js";
import { Alert, Field, useForm } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { OfCollection } from "../parts/pair.js";
import { Panel } from "../parts/panel.js";
import { SchemaTable } from "../parts/schema-table.js";
import { DryRun } from "../parts/schema-answer.js";
import { Choice } from "../parts/tabs.js";

/** @typedef {import("../app/collections.js").Collection} Collection */
/** @typedef {import("../app/collections.js").Definition} Definition */
/** `before` is null for a field that is new. @typedef {{ name: string, definition: Definition, before: Definition | null, isRemoved: boolean }} Row */
/** @typedef {{ answer: any, error: ApiError | null }} Preview */

const PAUSE_MS = 500;

/** @param {{ project: string, parts: { collection?: string } }} given */
export default function Schema({ project, parts }) {
  const name = parts.collection ?? "";
  return html`<${OfCollection} project=${project} name=${name} current="schema" show=${(/** @type {Collection} */ collection, /** @type {Collection[]} */ all) =>
    html`<${Fields} key=${`${name} ${collection.updated_at}`} project=${project} collection=${collection} all=${all} />`} />`;
}

/** @param {Record<string, Definition>} schema @returns {Row[]} */
const readRows = (schema) => Object.entries(schema).map(([name, definition]) => ({ name, definition, before: definition, isRemoved: false }));

/** A collection without fields begins with a field to name.
 * @param {Collection} collection @returns {Row[]} */
const firstRows = ({ schema }) => (Object.keys(schema).length ? readRows(schema) : [{ name: "", definition: { type: "string" }, before: null, isRemoved: false }]);

/** @param {Row[]} rows @returns {Record<string, Definition | null>} What is sent: fields that differ, null for those that go. */
function changesOf(rows) {
  const changed = rows.filter(({ name, definition, before, isRemoved }) => name && (isRemoved ? before : JSON.stringify(definition) !== JSON.stringify(before)));
  return Object.fromEntries(changed.map(({ name, definition, isRemoved }) => [name, isRemoved ? null : definition]));
}

/** @param {Row[]} rows @param {Record<string, Definition>} schema @returns {Row[]} Those of a schema that was typed as JSON. */
function mergeRows(rows, schema) {
  const stored = rows.filter(({ before }) => before);
  const kept = stored.map((row) => ({ ...row, definition: schema[row.name] ?? row.definition, isRemoved: !(row.name in schema) }));
  const made = Object.entries(schema).filter(([name]) => !stored.some((row) => row.name === name));
  return [...kept, ...made.map(([name, definition]) => ({ name, definition, before: null, isRemoved: false }))];
}

/** @param {{ project: string, collection: Collection, all: Collection[] }} given */
function Fields({ project, collection, all }) {
  const path = pathOfCollection(project, collection.name);
  const [rows, setRows] = useState(() => firstRows(collection));
  const [compounds, setCompounds] = useState(() => compoundsOf(collection));
  const [mode, setMode] = useState("table");
  const [text, setText] = useState("");
  const [preview, setPreview] = useState(/** @type {Preview | null} */ (null));
  const [isBusy, setBusy] = useState(false);
  const [isDeleting, deleting] = useState(false);
  const mayWrite = allows(project, "schema", "write");
  const changes = changesOf(rows);
  const together = changedCompounds(compounds, collection);
  const count = Object.keys(changes).length + Object.keys(together).length;
  const body = { schema: changes, ...together };
  const written = JSON.stringify(body);
  const parsed = mode === "json" ? parseJson(text) : null;
  const ask = async () => {
    setBusy(true);
    setPreview(await call(path, { method: "PATCH", query: { dry_run: "true" }, body, isRead: true }).then((answer) => ({ answer, error: null }), (error) => ({ answer: null, error })));
    setBusy(false);
  };
  useEffect(() => {
    setPreview(null);
    if (!count) return undefined;
    const timer = setTimeout(ask, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [written]);
  const save = async () => {
    setBusy(true);
    try {
      await call(path, { method: "PATCH", body });
      announce("Saved");
      forgetCollections();
      // A collection that had no fields goes on to its first document.
      if (!Object.keys(collection.schema).length && allows(project, "data", "write")) go(link(["projects", project, "data", collection.name], { record: "new" }));
    } catch (/** @type {any} */ error) {
      setPreview({ answer: error.body?.conflicts ? { applies: false, repairs: 0, conflicts: error.body.conflicts } : null, error: error.body?.conflicts ? null : error });
    }
    setBusy(false);
  };
  const show = (/** @type {string} */ next) => {
    if (next === "json") setText(writeJson(Object.fromEntries(rows.filter(({ name, isRemoved }) => name && !isRemoved).map(({ name, definition }) => [name, definition]))));
    setMode(next);
  };
  const type = (/** @type {string} */ json) => {
    setText(json);
    const { value, mistake } = parseJson(json);
    if (!mistake && value && typeof value === "object") setRows(mergeRows(rows, value));
  };
  const revert = () => { setRows(firstRows(collection)); setCompounds(compoundsOf(collection)); setText(writeJson(collection.schema)); };
  const mayDelete = mayWrite && html`<button class="button button-quiet is-danger wide" onClick=${() => deleting(true)}><${Icon} name="trash-2" />Delete collection</button>`;
  const state = preview?.answer?.applies === false ? `${number(preview.answer.conflicts.total)} ${preview.answer.conflicts.total === 1 ? "conflict" : "conflicts"}` : preview?.error ? "refused" : "";
  return html`<main class="main">
    <${Bar} title=${collection.name} tabs=${html`<${CollectionTabs} project=${project} collection=${collection.name} current="schema" />`}>${mayDelete}
      <${Choice} label="Form" value=${mode} choices=${{ table: "Table", json: "JSON" }} choose=${show} /><//>
    <div class="split"><div class="scroll">
        ${mode === "table" ? html`<${SchemaTable} rows=${rows} all=${all} error=${preview?.error ?? null} change=${setRows} mayWrite=${mayWrite} />
          <${CompoundLists} rows=${rows} compounds=${compounds} change=${setCompounds} mayWrite=${mayWrite} />`
          : html`<div class="page-inner pad"><${Editor} label="Schema as JSON" value=${text} change=${type} readonly=${!mayWrite} mistake=${parsed?.mistake ?? null} rows=${16} /></div>`}</div>
      ${count > 0 && html`<${Panel} title="What saving would do" size="narrow" side=${html`<span class="small faint">${isBusy ? "asking" : preview ? "dry run" : ""}</span>`}><div class="panel-body">
        <${DryRun} project=${project} collection=${collection} preview=${preview} rows=${rows} /></div><//>`}</div>
    ${mayWrite && count > 0 && html`<footer class="save-bar"><b>${count} ${count === 1 ? "change" : "changes"}</b><span class="push" />
      ${state && html`<span class="row bad"><${Icon} name="circle-x" />${state}</span>`}
      <button class="button" onClick=${revert}>Revert</button><button class="button" aria-disabled=${isBusy} onClick=${ask}>Preview</button>
      <button class="button button-primary" disabled=${isBusy || !preview?.answer?.applies} onClick=${save}>Save</button></footer>`}
    ${isDeleting && html`<${Deletion} project=${project} name=${collection.name} close=${() => deleting(false)} />`}
  </main>`;
}

/** @param {{ project: string, name: string, close: () => void }} given */
function Deletion({ project, name, close }) {
  const form = useForm({ confirm: "" }, async () => {
    await call(pathOfCollection(project, name), { method: "DELETE" });
    forgetCollections();
    close();
    go(link(["projects", project, "data"]));
  });
  return html`<${Dialog} title="Delete the collection" close=${close}><form onSubmit=${form.submit}><div class="dialog-body">
      <p class="soft">Its documents, their files and its rules go with it. It cannot be undone.</p><${Alert} form=${form} />
      <${Field} form=${form} name="confirm" label="The collection's name" hint=${`Type: ${name}`} autofocus /></div>
    <div class="dialog-foot"><button class="button" type="button" onClick=${close}>Cancel</button>
      <button class="button button-danger" aria-disabled=${form.isBusy} disabled=${form.values.confirm !== name}>Delete</button></div></form><//>`;
}
