/** The fields of a schema as a table; a row opens to the options of its type. */
import { useState } from "preact/hooks";
import { html } from "../app/html.js";
import { iconOf } from "../grid/columns.js";
import { Editor, parseJson, writeJson } from "./editor.js";
import { Icon } from "./icon.js";

/** @typedef {import("../pages/schema.js").Row} Row */
/** @typedef {import("../app/collections.js").Definition} Definition */

const TYPES = ["string", "integer", "number", "boolean", "datetime", "reference", "file", "object", "array", "any"];
const UNIQUE = new Set(["string", "integer", "number", "datetime", "reference"]);
const INDEXED = new Set([...UNIQUE, "boolean", "array", "any"]);
/** @type {Record<string, string[]>} */
const BOUNDS = { string: ["min_length", "max_length"], array: ["min_length", "max_length"], integer: ["min", "max"], number: ["min", "max"] };
const WORDS = { min_length: "At least", max_length: "At most", min: "From", max: "To", pattern: "Pattern", default: "Default", enum: "Values" };

/** @param {Definition} definition @returns {string} Its options in words. */
function describe({ type, required, unique, index, nullable, ...options }) {
  const parts = Object.entries(options).map(([name, value]) => (name === "collection" ? `of ${value}` : `${WORDS[/** @type {keyof typeof WORDS} */ (name)]?.toLowerCase() ?? name} ${typeof value === "string" ? value : JSON.stringify(value)}`));
  return [...parts, ...(nullable ? ["or null"] : [])].join(", ");
}

/** @param {{ rows: Row[], all: { name: string }[], error: import("../app/api.js").ApiError | null, change: (rows: Row[]) => void, mayWrite: boolean }} given */
export function SchemaTable({ rows, all, error, change, mayWrite }) {
  const [opened, open] = useState(-1);
  const set = (/** @type {number} */ at, /** @type {Partial<Row>} */ part) => change(rows.map((row, index) => (index === at ? { ...row, ...part } : row)));
  const add = () => {
    change([...rows, { name: "", definition: { type: "string" }, before: null, isRemoved: false }]);
    open(rows.length);
  };
  return html`<table class="table schema-table"><thead><tr><th><span class="unseen">Open</span></th><th>Field</th><th>Type</th><th>Required</th><th>Unique</th><th>Index</th><th>Options</th><th><span class="unseen">Remove</span></th></tr></thead>
    <tbody>${rows.map((row, at) => html`<${FieldRows} key=${row.before ? row.name : at} row=${row} all=${all} mayWrite=${mayWrite} isOpen=${opened === at} fault=${faultOf(error, row.name)}
      toggle=${() => open(opened === at ? -1 : at)} set=${(/** @type {Partial<Row>} */ part) => set(at, part)} drop=${() => (row.before ? set(at, { isRemoved: !row.isRemoved }) : change(rows.filter((_, index) => index !== at)))} />`)}</tbody></table>
    ${!rows.length && html`<p class="below-table soft">No fields yet. A document without fields holds nothing.</p>`}
    ${mayWrite && html`<div class="below-table"><button class="button button-quiet" onClick=${add}><${Icon} name="plus" />Add field</button></div>`}`;
}

/** @param {import("../app/api.js").ApiError | null} error @param {string} name @returns {string} */
const faultOf = (error, name) => error?.faults.filter(({ loc }) => loc[1] === "schema" && loc[2] === name).map(({ loc, msg }) => `${loc.slice(3).join(".")} ${msg}`.trim()).join(" ") ?? "";

/** @param {{ row: Row, all: { name: string }[], mayWrite: boolean, isOpen: boolean, fault: string, toggle: () => void, set: (part: Partial<Row>) => void, drop: () => void }} given */
function FieldRows({ row, all, mayWrite, isOpen, fault, toggle, set, drop }) {
  const { name, definition, before, isRemoved } = row;
  const isChanged = JSON.stringify(definition) !== JSON.stringify(before);
  const define = (/** @type {Record<string, unknown>} */ part) => set({ definition: /** @type {Definition} */ (clean({ ...definition, ...part })) });
  const flag = (/** @type {"required" | "unique" | "index"} */ option, /** @type {Set<string> | null} */ types) => html`<td><input class="check" type="checkbox" aria-label=${`${option} ${name}`} checked=${Boolean(definition[option])}
    disabled=${!mayWrite || isRemoved || (types && !types.has(definition.type))} onChange=${() => define({ [option]: !definition[option] || undefined })} /></td>`;
  const chosen = (/** @type {Event} */ event) => /** @type {HTMLInputElement} */ (event.currentTarget).value;
  return html`<tr class=${isChanged || isRemoved ? "is-changed" : ""}>
      <td><button class="button button-quiet button-icon button-small" aria-expanded=${isOpen} aria-label=${`Options of ${name || "the new field"}`} onClick=${toggle}><${Icon} name=${isOpen ? "chevron-down" : "chevron-right"} small /></button></td>
      <td>${before ? html`<b dir="auto" class=${isRemoved ? "struck" : ""}>${name}</b>` : html`<input class="input input-small" aria-label="Field name" dir="auto" value=${name} onInput=${(/** @type {Event} */ event) => set(rename(chosen(event), definition, all))} />`}
        ${" "}${isRemoved ? html`<span class="badge badge-bad">removed</span>` : !before ? html`<span class="badge badge-accent">new</span>` : isChanged ? html`<span class="badge badge-accent">changed</span>` : ""}
        ${fault && html`<span class="field-error" role="alert">${fault}</span>`}</td>
      <td>${mayWrite && !isRemoved ? html`<span class="type"><${Icon} name=${iconOf(definition.type)} small /><select class="input input-small type-select" aria-label=${before ? `Type of ${name}` : "Type"} onChange=${(/** @type {Event} */ event) => set({ definition: firstOf(/** @type {Definition["type"]} */ (chosen(event)), definition, all) })}>
        ${TYPES.map((each) => html`<option key=${each} value=${each} selected=${each === definition.type}>${each}</option>`)}</select></span>` : html`<span class="type"><${Icon} name=${iconOf(definition.type)} small />${definition.type}</span>`}</td>
      ${flag("required", null)}${flag("unique", UNIQUE)}${flag("index", INDEXED)}
      <td class="fill soft" dir="auto">${definition.type === "reference" && mayWrite && !before ? html`<select class="input input-small" aria-label="Collection" onChange=${(/** @type {Event} */ event) => define({ collection: chosen(event) })}>
        ${["users", ...all.map((each) => each.name)].map((each) => html`<option key=${each} value=${each} selected=${each === definition.collection}>${each}</option>`)}</select>` : describe(definition)}</td>
      <td>${mayWrite && html`<button class="button button-quiet button-icon button-small" aria-label=${`${isRemoved ? "Keep" : "Remove"} ${name || "the new field"}`} onClick=${drop}><${Icon} name=${isRemoved ? "rotate-cw" : "x"} small /></button>`}</td></tr>
    ${isOpen && html`<tr class="schema-open"><td colspan="8"><${Options} definition=${definition} mayWrite=${mayWrite && !isRemoved} define=${define} replace=${(/** @type {Definition} */ next) => set({ definition: next })} />
      ${before && html`<p class="field-hint">A name stays. For another one add a field, copy the values with Edit in the grid or by the API, and remove this one.</p>`}</td></tr>`}`;
}

/** A name of the form of a reference proposes one, to the collection that its relation begins: `author_id` to `authors`.
 * @param {string} name @param {Definition} definition @param {{ name: string }[]} all @returns {Partial<Row>} */
function rename(name, definition, all) {
  const relation = /^(.+)_id$/.exec(name)?.[1]?.toLowerCase();
  const target = relation && ["users", ...all.map((each) => each.name)].find((each) => each.toLowerCase().startsWith(relation));
  return target && definition.type === "string" ? { name, definition: { type: "reference", collection: target } } : { name };
}

/** @param {import("../app/collections.js").FieldType} type @param {Definition} before @param {{ name: string }[]} all @returns {Definition} Without the options that its type has not. */
function firstOf(type, { required }, all) {
  const kept = required ? { type, required } : { type };
  return type === "reference" ? { ...kept, collection: all[0]?.name ?? "users" } : kept;
}

/** @param {Record<string, unknown>} definition Without what is undefined. */
const clean = (definition) => Object.fromEntries(Object.entries(definition).filter(([, value]) => value !== undefined));

/** @param {{ definition: Definition, mayWrite: boolean, define: (part: Record<string, unknown>) => void, replace: (definition: Definition) => void }} given */
function Options({ definition, mayWrite, define, replace }) {
  const [text, setText] = useState(() => writeJson(definition));
  const { type } = definition;
  const numeric = type === "integer" || type === "number";
  const scalar = (/** @type {string} */ typed) => (typed === "" ? undefined : numeric ? (Number.isNaN(Number(typed)) ? typed : Number(typed)) : type === "boolean" ? typed === "true" : typed);
  const list = (/** @type {string} */ typed) => (typed.trim() ? typed.split(",").map((each) => scalar(each.trim())) : undefined);
  const field = (/** @type {string} */ option, /** @type {(typed: string) => unknown} */ read, /** @type {string} */ shown) => html`<label class="field field-above" key=${option}><span class="field-label">${WORDS[/** @type {keyof typeof WORDS} */ (option)]}</span>
    <input class="input input-small" dir="auto" value=${shown} readonly=${!mayWrite} onChange=${(/** @type {Event} */ event) => define({ [option]: read(/** @type {HTMLInputElement} */ (event.currentTarget).value) })} /></label>`;
  const type_ = (/** @type {string} */ json) => {
    setText(json);
    const { value, mistake } = parseJson(json);
    if (!mistake && value && typeof value === "object" && typeof value.type === "string") replace(value);
  };
  const isScalar = ["string", "integer", "number", "boolean", "datetime"].includes(type);
  if (!isScalar) return html`<${Editor} label="Definition as JSON" value=${text} change=${type_} readonly=${!mayWrite} mistake=${parseJson(text).mistake} rows=${4} />`;
  return html`<div class="schema-options">
    ${type === "string" && field("pattern", (typed) => typed || undefined, String(definition.pattern ?? ""))}
    ${(BOUNDS[type] ?? []).map((option) => field(option, (typed) => (typed === "" ? undefined : Number(typed)), String(definition[option] ?? "")))}
    ${(type === "string" || numeric) && field("enum", list, (definition.enum ?? []).join(", "))}
    ${field("default", scalar, String(definition.default ?? ""))}
    <label class="row"><input class="check" type="checkbox" checked=${Boolean(definition.nullable)} disabled=${!mayWrite} onChange=${() => define({ nullable: !definition.nullable || undefined })} />May be null</label></div>`;
}
