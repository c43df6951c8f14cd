/** The dialog that makes conditions, or takes them as JSON. */
import { useState } from "preact/hooks";
import { html } from "../app/html.js";
import { Dialog } from "../parts/dialog.js";
import { Editor, parseJson, writeJson } from "../parts/editor.js";
import { Icon } from "../parts/icon.js";
import { Choice } from "../parts/tabs.js";
import { OPERATORS, operatorsOf, readFilter, readValue, writeFilter, writeValue } from "./query.js";

/** @typedef {import("./filter.js").Field} Field */
/** @typedef {import("./query.js").Condition & { text: string }} Row */

/** @param {{ where: any, fields: Field[], change: (where: object) => void, close: () => void }} given */
export function FilterDialog({ where, fields, change, close }) {
  const first = readFilter(where);
  const [mode, setMode] = useState(first ? "form" : "json");
  const [any, setAny] = useState(first?.any ?? false);
  const [rows, setRows] = useState(() => (first?.conditions ?? []).map((each) => ({ ...each, text: writeValue(each.value) })).concat(first?.conditions.length ? [] : [makeRow(fields)]));
  const [text, setText] = useState(writeJson(where));
  const typeOf = (/** @type {string} */ path) => fields.find((each) => each.path === path)?.kind ?? "string";
  const written = () => writeFilter({ any, conditions: rows.filter(({ field }) => field).map((row) => ({ ...row, value: readValue(row.text, row.operator, typeOf(row.field)) })) });
  const parsed = parseJson(text);
  const set = (/** @type {number} */ at, /** @type {Partial<Row>} */ part) => setRows(rows.map((row, index) => (index === at ? { ...row, ...part } : row)));
  const choose = (/** @type {string} */ next) => {
    if (next === "json") setText(writeJson(written()));
    const filter = next === "form" && !parsed.mistake ? readFilter(parsed.value) : null;
    if (filter) {
      setAny(filter.any);
      setRows(filter.conditions.map((each) => ({ ...each, text: writeValue(each.value) })));
    }
    if (next === "json" || filter) setMode(next);
  };
  const apply = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (mode === "json" && parsed.mistake) return;
    change(mode === "json" ? parsed.value : written());
    close();
  };
  return html`<${Dialog} title="Filter" close=${close} size="wide"><form onSubmit=${apply}>
    <div class="dialog-body"><div class="row"><${Choice} label="How" value=${mode} choices=${{ form: "Conditions", json: "JSON" }} choose=${choose} />
      ${mode === "form" && rows.length > 1 && html`<span class="push"><${Choice} label="Which must hold" value=${any ? "any" : "all"} choices=${{ all: "All must hold", any: "Any may hold" }} choose=${(/** @type {string} */ each) => setAny(each === "any")} /></span>`}</div>
      ${mode === "form" ? html`${rows.map((row, at) => html`<${ConditionRow} key=${at} row=${row} fields=${fields} type=${typeOf(row.field)}
          set=${(/** @type {Partial<Row>} */ part) => set(at, part)} remove=${() => setRows(rows.filter((_, index) => index !== at))} />`)}
          <div><button class="button button-small" type="button" onClick=${() => setRows([...rows, makeRow(fields)])}><${Icon} name="plus" small />Add condition</button></div>`
        : html`<${Editor} label="Filter as JSON" value=${text} change=${setText} mistake=${parsed.mistake} rows=${6} />
          <p class="field-hint">The query language of the API: conditions such as "year_gte", joined by "and", "or" and "not".</p>`}
    </div>
    <div class="dialog-foot"><button class="button" type="button" onClick=${() => { change({}); close(); }}>Clear</button><span class="push" />
      <button class="button" type="button" onClick=${close}>Cancel</button><button class="button button-primary" disabled=${mode === "json" && parsed.mistake}>Apply</button></div>
  </form><//>`;
}

/** @param {Field[]} fields @returns {Row} */
const makeRow = (fields) => ({ field: fields[0]?.path ?? "id", operator: operatorsOf(fields[0]?.kind ?? "id")[0] ?? "eq", value: "", text: "" });

/** @param {{ row: Row, fields: Field[], type: string, set: (part: Partial<Row>) => void, remove: () => void }} given */
function ConditionRow({ row, fields, type, set, remove }) {
  const chosen = (/** @type {Event} */ event) => /** @type {HTMLSelectElement | HTMLInputElement} */ (event.currentTarget).value;
  const paths = fields.some(({ path }) => path === row.field) ? fields : [...fields, { path: row.field, kind: type }];
  const pick = (/** @type {Event} */ event) => {
    const field = chosen(event);
    const kind = fields.find(({ path }) => path === field)?.kind ?? "string";
    set({ field, operator: operatorsOf(kind).includes(row.operator) ? row.operator : (operatorsOf(kind)[0] ?? "eq") });
  };
  return html`<div class="condition">
    <select class="input input-small" aria-label="Field" onChange=${pick}>${paths.map(({ path }) => html`<option key=${path} value=${path} selected=${path === row.field}>${path}</option>`)}</select>
    <select class="input input-small" aria-label="Operator" onChange=${(/** @type {Event} */ event) => set({ operator: chosen(event) })}>
      ${[...new Set([...operatorsOf(type), row.operator])].map((each) => html`<option key=${each} value=${each} selected=${each === row.operator}>${OPERATORS[/** @type {keyof typeof OPERATORS} */ (each)]}</option>`)}</select>
    ${row.operator === "isnull" || type === "boolean"
      ? html`<select class="input input-small" aria-label="Value" onChange=${(/** @type {Event} */ event) => set({ text: chosen(event) })}>
          ${[["true", row.operator === "isnull" ? "yes" : "true"], ["false", row.operator === "isnull" ? "no" : "false"]].map(([value, word]) => html`<option key=${value} value=${value} selected=${(row.text || "true") === value}>${word}</option>`)}</select>`
      : html`<input class="input input-small" aria-label="Value" dir="auto" value=${row.text} onInput=${(/** @type {Event} */ event) => set({ text: chosen(event) })}
          placeholder=${row.operator === "in" || row.operator === "hasall" ? "a, b, c" : type === "datetime" ? "2026-01-31" : ""} />`}
    <label class="row small"><input class="check" type="checkbox" checked=${row.isNot} onChange=${() => set({ isNot: !row.isNot })} />not</label>
    <button class="button button-quiet button-icon button-small" type="button" aria-label="Remove the condition" onClick=${remove}><${Icon} name="x" small /></button>
  </div>`;
}
