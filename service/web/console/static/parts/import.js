/** Import: a file becomes documents, of a collection that is there or of a new one whose schema the file proposes. */
import { useRef, useState } from "preact/hooks";
import { announce } from "../app/announcements.js";
import { call, upload } from "../app/api.js";
import { forgetCollections, pathOf, pathOfCollection } from "../app/collections.js";
import { html } from "../app/html.js";
import { go, link } from "../app/router.js";
import { number } from "../app/texts.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icon.js";
import { findDelimiter, inferCsv, inferLines, writeHeader } from "./infer.js";

/** @typedef {import("./infer.js").Column} Column */
/** @typedef {{ file: File, isCsv: boolean, delimiter: string, columns: Column[], rows: number, head: number }} Source */

const BEGINNING = 1_048_576;
const MARK = [0xef, 0xbb, 0xbf];
const TYPES = ["string", "integer", "number", "boolean", "datetime", "object", "array", "any"];

/** @param {File} file @returns {Promise<Source>} */
async function readSource(file) {
  const text = await file.slice(0, BEGINNING).text();
  const isWhole = file.size <= BEGINNING;
  const isCsv = !/\.(ndjson|jsonl|json)$/i.test(file.name);
  const delimiter = findDelimiter(text);
  const { columns, rows, end } = isCsv ? inferCsv(text, delimiter, isWhole) : inferLines(text, isWhole);
  if (!columns.length) throw new Error("The file has no columns.");
  // The text is without the mark that spreadsheets write first; the file has it.
  const mark = new Uint8Array(await file.slice(0, MARK.length).arrayBuffer());
  const skipped = MARK.every((byte, at) => mark[at] === byte) ? MARK.length : 0;
  return { file, isCsv, delimiter, columns, rows, head: skipped + new TextEncoder().encode(text.slice(0, end)).length };
}

/** @param {string} name Of a file. @returns {string} A name that a collection may have. */
const proposeName = (name) => name.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9_-]+/g, "_").replace(/^[^A-Za-z]+/, "").slice(0, 63) || "imported";

/** @param {{ project: string, collection?: import("../app/collections.js").Collection | null, close: () => void, done: () => void }} given */
export function ImportDialog({ project, collection = null, close, done }) {
  const [source, setSource] = useState(/** @type {Source | null} */ (null));
  const [columns, setColumns] = useState(/** @type {Column[]} */ ([]));
  const [name, setName] = useState("");
  const [by, setBy] = useState("");
  const [sent, setSent] = useState(-1);
  const [failure, fail] = useState("");
  const [result, setResult] = useState(/** @type {any} */ (null));
  const aborter = useRef(new AbortController());
  const choose = (/** @type {File | undefined} */ file) => file && readSource(file).then(
    (found) => { fail(""); setSource(found); setColumns(found.columns); setName(proposeName(file.name)); },
    (error) => fail(`The file cannot be read: ${error.message}`));
  const start = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (!source || sent >= 0) return;
    fail("");
    try {
      if (!collection) await call(`${pathOf(project)}/api/collections`, { method: "POST", body: { name, schema: Object.fromEntries(columns.map((each) => [each.name, { type: each.type }])) } });
      setSent(0);
      const body = source.isCsv ? new Blob([writeHeader(columns.map((each) => each.name), source.delimiter), source.file.slice(source.head)]) : source.file;
      finish(await upload(`${pathOfCollection(project, collection?.name ?? name)}/import`, body, {
        type: source.isCsv ? "text/csv" : "application/x-ndjson", signal: aborter.current.signal, progress: setSent,
        query: { mode: by ? "upsert" : "create", by, delimiter: source.isCsv && source.delimiter !== "," ? source.delimiter : "" },
      }));
    } catch (/** @type {any} */ error) {
      fail(error.faults?.[0]?.msg ?? error.message);
    }
    setSent(-1);
  };
  const finish = (/** @type {any} */ found) => {
    forgetCollections();
    done();
    if (found.refused) setResult(found);
    else end(found);
  };
  const leave = () => { aborter.current.abort(); close(); };
  const end = (/** @type {any} */ found) => { announce(`${number(found.created)} created${found.updated ? `, ${number(found.updated)} updated` : ""}`); close(); go(link(["projects", project, "data", collection?.name ?? name])); };
  if (result) return html`<${Dialog} title="Imported" close=${close}><${Result} result=${result} file=${source?.file.name ?? ""} /><div class="dialog-foot"><button class="button button-primary" onClick=${() => end(result)}>Show the documents</button></div><//>`;
  return html`<${Dialog} title=${collection ? `Import into ${collection.name}` : "Import"} close=${leave} size="wide"><form onSubmit=${start}><div class="dialog-body">
      ${failure && html`<p class="form-alert" role="alert">${failure}</p>`}
      <label class="drop" onDragOver=${(/** @type {Event} */ event) => event.preventDefault()} onDrop=${(/** @type {DragEvent} */ event) => { event.preventDefault(); choose(event.dataTransfer?.files[0]); }}>
        <${Icon} name="file-up" small />${source ? html`<b dir="auto">${source.file.name}</b>, ${number(source.file.size)} bytes` : html`Drop a file of CSV or NDJSON, or <span class="drop-choose">choose</span>`}
        <input class="unseen" type="file" aria-label="File" accept=".csv,.tsv,.txt,.ndjson,.jsonl,.json" onChange=${(/** @type {Event} */ event) => choose(/** @type {HTMLInputElement} */ (event.currentTarget).files?.[0])} /></label>
      ${source && !collection && html`<label class="field field-above"><span class="field-label">Collection name</span><input class="input" value=${name} onInput=${(/** @type {Event} */ event) => setName(/** @type {HTMLInputElement} */ (event.currentTarget).value)} required /></label>`}
      ${source && collection && html`<${Mode} collection=${collection} by=${by} choose=${setBy} />`}
      ${source && html`<${Columns} columns=${columns} collection=${collection} isFixed=${!source.isCsv} change=${setColumns} />
        <p class="field-hint">Types are those that fit the first ${number(source.rows)} rows. They can be changed before the import.</p>`}
      ${sent >= 0 && source && html`<label class="stack-small"><span class="small">${number(sent)} of ${number(source.file.size)} bytes sent</span><progress class="meter" max=${source.file.size} value=${sent} /></label>`}
    </div><div class="dialog-foot"><button class="button" type="button" onClick=${leave}>Cancel</button>
      <button class="button button-primary" disabled=${!source || sent >= 0}>Import</button></div></form><//>`;
}

/** @param {{ collection: import("../app/collections.js").Collection, by: string, choose: (by: string) => void }} given */
function Mode({ collection, by, choose }) {
  const unique = Object.entries(collection.schema).filter(([, { unique: is }]) => is).map(([field]) => field);
  return html`<label class="field field-above"><span class="field-label">Rows</span><select class="input" onChange=${(/** @type {Event} */ event) => choose(/** @type {HTMLSelectElement} */ (event.currentTarget).value)}>
    <option value="" selected=${!by}>Each row is a new document</option>${unique.map((field) => html`<option key=${field} value=${field} selected=${field === by}>A row replaces the document with the same ${field}</option>`)}</select></label>`;
}

/** @param {{ columns: Column[], collection: import("../app/collections.js").Collection | null, isFixed: boolean, change: (columns: Column[]) => void }} given */
function Columns({ columns, collection, isFixed, change }) {
  const set = (/** @type {number} */ at, /** @type {Partial<Column>} */ part) => change(columns.map((each, index) => (index === at ? { ...each, ...part } : each)));
  const chosen = (/** @type {Event} */ event) => /** @type {HTMLInputElement} */ (event.currentTarget).value;
  return html`<div class="table-box import-columns" tabindex="0" role="group" aria-label="Columns of the file"><table class="table"><thead><tr><th>Field</th><th>Type</th><th>Empty</th><th>Examples</th></tr></thead>
    <tbody>${columns.map((column, at) => html`<tr key=${column.header}>
      <td>${isFixed ? html`<span dir="auto">${column.name}</span>` : html`<input class="input input-small" aria-label=${`Field for ${column.header}`} dir="auto" value=${column.name} onInput=${(/** @type {Event} */ event) => set(at, { name: chosen(event) })} />`}
        ${collection && !collection.schema[column.name] && html`<span class="field-error">no such field</span>`}</td>
      <td>${collection ? (collection.schema[column.name]?.type ?? "") : html`<select class="input input-small" aria-label=${`Type of ${column.header}`} onChange=${(/** @type {Event} */ event) => set(at, { type: /** @type {Column["type"]} */ (chosen(event)) })}>
        ${TYPES.map((each) => html`<option key=${each} value=${each} selected=${each === column.type}>${each}</option>`)}</select>`}</td>
      <td class="number">${number(column.empty)}</td><td class="faint cut" dir="auto">${column.examples.join(", ")}</td></tr>`)}</tbody></table></div>`;
}

/** @param {{ result: any, file: string }} given */
function Result({ result, file }) {
  const lines = () => {
    const cell = (/** @type {unknown} */ text) => `"${String(text).replaceAll('"', '""')}"`;
    const rows = result.errors.flatMap((/** @type {any} */ row) => row.errors.map((/** @type {any} */ each) => [row.line, each.loc.slice(2).join("."), each.msg].map(cell).join(",")));
    return URL.createObjectURL(new Blob([`line,field,reason\n${rows.join("\n")}\n`], { type: "text/csv" }));
  };
  return html`<div class="dialog-body" role="status"><p class="result result-good"><${Icon} name="circle-check" /><span><b>${number(result.created)} created</b>${result.updated > 0 && `, ${number(result.updated)} updated`}</span></p>
    ${result.refused > 0 && html`<div class="result result-bad"><${Icon} name="circle-x" /><div><b>${number(result.refused)} refused</b>
      ${result.groups.slice(0, 5).map((/** @type {any} */ each) => html`<p key=${each.line} dir="auto">${number(each.count)}: <code>${each.error.loc.slice(2).join(".")}</code> ${each.error.msg}, first in line ${number(each.line)}</p>`)}
      <a class="button button-small" href=${lines()} download=${`${file}.refused.csv`}><${Icon} name="download" small />Refused lines as CSV</a></div></div>`}</div>`;
}
