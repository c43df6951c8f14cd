/** The steps of an aggregation: source, conditions, groups, values, order, parameters. Each change is given to `change`. */
import { useState } from "preact/hooks";
import { html } from "../app/html.js";
import { BUCKETS, DATES, FUNCTIONS, isProposed, listFields, nameColumn, OPERATORS, readConditions, renameKey, writeConditions } from "./aggregate.js";
import { Icon } from "./icon.js";

/** @typedef {{ type: "string" | "number" | "boolean" | "integer" | "datetime" }} Parameter */
/** @typedef {{ source: string, aggregate: import("./aggregate.js").Aggregate, parameters: Record<string, Parameter>, samples: Record<string, string> }} Draft */
/** @typedef {{ draft: Draft, change: (part: Partial<Draft>) => void, fields: import("./aggregate.js").FieldOf[] }} Given */

/** @param {{ draft: Draft, change: (part: Partial<Draft>) => void, collections: any[], sources: string[], children?: unknown }} given */
export function Builder({ draft, change, collections, sources, children }) {
  const given = { draft, change, fields: listFields(draft.source, collections) };
  return html`<form class="builder" aria-label="Aggregation" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    <section class="step"><div class="step-head">Documents of</div><div class="step-line">
      <${Pick} label="Source" value=${draft.source} values=${sources} choose=${(/** @type {string} */ source) => change({ source, aggregate: { values: { count: "count" } } })} /></div></section>
    <${Conditions} key=${draft.source} ...${given} /><${Groups} ...${given} /><${Values} ...${given} /><${Order} ...${given} /><${Parameters} ...${given} />${children}</form>`;
}

/** @param {{ label: string, value: string, values: string[] | Record<string, string>, choose: (value: string) => void }} given */
export function Pick({ label, value, values, choose }) {
  const pairs = Array.isArray(values) ? values.map((each) => [each, each]) : Object.entries(values);
  const all = pairs.some(([key]) => key === value) ? pairs : [[value, value], ...pairs];
  return html`<select class="input input-small" aria-label=${label} onChange=${(/** @type {Event} */ event) => choose(/** @type {HTMLSelectElement} */ (event.currentTarget).value)}>
    ${all.map(([key, text]) => html`<option key=${key} value=${key} selected=${key === value}>${text}</option>`)}</select>`;
}

/** A text that takes effect when it is left, or by Enter. @param {{ label: string, value: string, size?: string, set: (value: string) => void }} given */
function Word({ label, value, size = "", set }) {
  const [typed, type] = useState(/** @type {string | null} */ (null));
  const commit = () => {
    if (typed !== null && typed !== value) set(typed);
    type(null);
  };
  return html`<input class=${`input input-small ${size}`} aria-label=${label} value=${typed ?? value} dir="auto" spellcheck="false" autocomplete="off" onBlur=${commit}
    onInput=${(/** @type {InputEvent} */ event) => type(/** @type {HTMLInputElement} */ (event.currentTarget).value)} onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && commit()} />`;
}

/** @param {{ label: string, act: () => void }} given */
const Add = ({ label, act }) => html`<span class="push"><button type="button" class="button button-quiet button-small button-icon" aria-label=${label} onClick=${act}><${Icon} name="plus" small /></button></span>`;
/** @param {{ label: string, act: () => void }} given */
const Remove = ({ label, act }) => html`<button type="button" class="button button-quiet button-small button-icon" aria-label=${label} onClick=${act}><${Icon} name="x" small /></button>`;

/** @param {Given} given */
function Conditions({ draft, change, fields }) {
  const [rows, setRows] = useState(readConditions(draft.aggregate));
  const put = (/** @type {import("./aggregate.js").Condition[]} */ after) => {
    setRows(after);
    const where = writeConditions(after, fields);
    const { where: _, ...rest } = draft.aggregate;
    change({ aggregate: Object.keys(where).length ? { where, ...rest } : rest });
  };
  const edit = (/** @type {number} */ index, /** @type {object} */ part) => put((rows ?? []).map((row, at) => (at === index ? { ...row, ...part } : row)));
  return html`<section class="step"><div class="step-head">Only where${rows && html`<${Add} label="Another condition" act=${() => setRows([...rows, { field: fields[0]?.name ?? "", operator: "eq", value: "" }])} />`}</div>
    ${rows ? rows.map((row, index) => html`<div class="step-line" key=${index}><${Pick} label=${`Field ${index + 1}`} value=${row.field} values=${fields.map(({ name }) => name)} choose=${(/** @type {string} */ field) => edit(index, { field })} />
      <${Pick} label=${`Operator ${index + 1}`} value=${row.operator} values=${OPERATORS} choose=${(/** @type {string} */ operator) => edit(index, { operator })} />
      <${Word} label=${`Value ${index + 1}`} size="is-tight" value=${row.value} set=${(/** @type {string} */ value) => edit(index, { value })} /><${Remove} label=${`Remove condition ${index + 1}`} act=${() => put(rows.filter((_, at) => at !== index))} /></div>`)
      : html`<p class="small soft">The filter has branches: edit it as JSON.</p>`}</section>`;
}

/** @param {Given} given */
function Groups({ draft, change, fields }) {
  const { group = {}, ...rest } = draft.aggregate;
  const put = (/** @type {Record<string, any>} */ after) => change({ aggregate: sorted({ ...rest, ...(Object.keys(after).length ? { group: after } : {}) }) });
  const typeOf = (/** @type {string} */ field) => fields.find(({ name }) => name === field)?.type ?? "";
  const taken = [...Object.keys(group), ...Object.keys(rest.values ?? {})];
  const begin = (/** @type {string} */ field) => (DATES.includes(typeOf(field)) ? { field, every: "month" } : typeOf(field) === "array" ? { field, each: true } : field);
  const add = (/** @type {string} */ field) => put({ ...group, [nameColumn(field, taken)]: begin(field) });
  const entries = Object.entries(group);
  const names = fields.map(({ name }) => name);
  return html`<section class="step"><div class="step-head">Group by${entries.length > 0 && html`<${Add} label="Another group" act=${() => add(names.find((each) => !taken.includes(each)) ?? "created_at")} />`}</div>
    ${entries.length === 0 && html`<div class="step-line"><${Pick} label="Group by" value="" values=${{ "": "nothing", ...Object.fromEntries(names.map((each) => [each, each])) }} choose=${add} /></div>`}
    ${entries.map(([name, key], index) => {
      const field = key.field ?? key;
      const set = (/** @type {string} */ chosen) => put(renameKey(group, name, isProposed(name, field) ? nameColumn(chosen, taken) : name, begin(chosen)));
      return html`<div class="step-line" key=${index}><${Pick} label=${index ? `Group by ${index + 1}` : "Group by"} value=${field} values=${names} choose=${set} />
        ${DATES.includes(typeOf(field)) && html`<${Pick} label=${index ? `Each ${index + 1}` : "Each"} value=${key.every ?? ""} values=${{ "": "exact", ...Object.fromEntries(BUCKETS.map((each) => [each, each])) }}
          choose=${(/** @type {string} */ every) => put({ ...group, [name]: every ? { ...(key.field ? key : { field }), every } : field })} />`}
        <${Word} label=${`Name of group ${index + 1}`} size="is-name" value=${name} set=${(/** @type {string} */ text) => text && put(renameKey(group, name, nameColumn(text, taken.filter((each) => each !== name)), key))} />
        <${Remove} label=${`Remove the group ${name}`} act=${() => put(Object.fromEntries(entries.filter(([each]) => each !== name)))} /></div>`;
    })}</section>`;
}

/** @param {Given} given */
function Values({ draft, change, fields }) {
  const { values = {}, group = {} } = draft.aggregate;
  const put = (/** @type {Record<string, any>} */ after) => change({ aggregate: sorted({ ...draft.aggregate, values: after }) });
  const taken = [...Object.keys(group), ...Object.keys(values)];
  // Values look at fields of the records themselves, not along relations.
  const own = fields.map(({ name }) => name);
  const numeric = fields.filter(({ type }) => type === "integer" || type === "number").map(({ name }) => name);
  const write = (/** @type {string} */ kind, /** @type {string} */ field) => (kind === "count" ? "count" : { [kind]: field });
  const first = (/** @type {string} */ kind) => (["sum", "avg"].includes(kind) ? numeric[0] : (numeric[0] ?? own[0])) ?? "created_at";
  return html`<section class="step"><div class="step-head">Values<${Add} label="Another value" act=${() => put({ ...values, [nameColumn("count", taken)]: "count" })} /></div>
    ${Object.entries(values).map(([name, value], index) => {
      const [kind, field] = typeof value === "string" ? ["count", ""] : (Object.entries(value)[0] ?? ["count", ""]);
      const isOwn = isProposed(name, kind === "count" ? "count" : `${kind}_${field}`);
      const set = (/** @type {string} */ toKind, /** @type {string} */ toField) =>
        put(renameKey(values, name, isOwn ? nameColumn(toKind === "count" ? "count" : `${toKind}_${toField}`, taken.filter((each) => each !== name)) : name, write(toKind, toField)));
      return html`<div class="step-line" key=${index}><${Pick} label=${`Value ${index + 1} is`} value=${kind} values=${FUNCTIONS} choose=${(/** @type {string} */ chosen) => set(chosen, String(field) || first(chosen))} />
        ${kind !== "count" && html`<${Pick} label=${`Value ${index + 1} of`} value=${field} values=${["sum", "avg"].includes(String(kind)) ? numeric : own} choose=${(/** @type {string} */ chosen) => set(String(kind), chosen)} />`}
        <${Word} label=${`Name of value ${index + 1}`} size="is-name" value=${name} set=${(/** @type {string} */ text) => text && put(renameKey(values, name, nameColumn(text, taken.filter((each) => each !== name)), value))} />
        <${Remove} label=${`Remove the value ${name}`} act=${() => put(Object.fromEntries(Object.entries(values).filter(([each]) => each !== name)))} /></div>`;
    })}</section>`;
}

/** @param {Given} given */
function Order({ draft, change }) {
  const { group = {}, values = {}, sort_by: [sort] = [""], limit } = draft.aggregate;
  const columns = [...Object.keys(group), ...Object.keys(values)];
  const choices = Object.fromEntries([["", "by the groups"], ...columns.flatMap((name) => [[`-${name}`, `${name}, falling`], [name, `${name}, rising`]])]);
  const set = (/** @type {Record<string, any>} */ part) => {
    const after = { ...draft.aggregate, ...part };
    change({ aggregate: Object.fromEntries(Object.entries(after).filter(([, value]) => value !== undefined)) });
  };
  return html`<section class="step"><div class="step-head">Sort and limit</div><div class="step-line">
    <${Pick} label="Sort" value=${sort ?? ""} values=${choices} choose=${(/** @type {string} */ chosen) => set({ sort_by: chosen ? [chosen] : undefined })} />
    <${Word} label="Limit" size="is-tight" value=${String(limit ?? 100)} set=${(/** @type {string} */ text) => set({ limit: /^\d{1,9}$/.test(text) && Number(text) !== 100 ? Number(text) : undefined })} /></div></section>`;
}

/** @param {Given} given */
function Parameters({ draft, change }) {
  const names = Object.keys(draft.parameters);
  const types = ["string", "integer", "number", "boolean", "datetime"];
  const add = () => change({ parameters: { ...draft.parameters, [nameColumn("least", names)]: { type: "number" } } });
  return html`<section class="step"><div class="step-head">Parameters<${Add} label="Another parameter" act=${add} /></div>
    ${names.map((name, index) => html`<div class="step-line" key=${index}><${Word} label=${`Name of parameter ${index + 1}`} value=${name} set=${(/** @type {string} */ text) => text && change({ parameters: renameKey(draft.parameters, name, text, draft.parameters[name]) })} />
      <${Pick} label=${`Type of ${name}`} value=${draft.parameters[name]?.type ?? ""} values=${types} choose=${(/** @type {any} */ type) => change({ parameters: { ...draft.parameters, [name]: { type } } })} />
      <${Word} label=${`Try ${name} with`} size="is-tight" value=${draft.samples[name] ?? ""} set=${(/** @type {string} */ text) => change({ samples: { ...draft.samples, [name]: text } })} />
      <${Remove} label=${`Remove the parameter ${name}`} act=${() => change({ parameters: Object.fromEntries(Object.entries(draft.parameters).filter(([each]) => each !== name)) })} /></div>`)}
    <p class="small soft">${names.length ? html`A condition names it: <code dir="auto">$${names[0]}</code>. The chart tries the last value.` : "A value that an app gives when it asks."}</p></section>`;
}

/** @param {Record<string, any>} aggregate @returns {Record<string, any>} Without an order by a column that is gone. */
function sorted(aggregate) {
  const columns = [...Object.keys(aggregate.group ?? {}), ...Object.keys(aggregate.values ?? {})];
  const { sort_by = [], ...rest } = aggregate;
  const kept = sort_by.filter((/** @type {string} */ each) => columns.includes(each.replace(/^-/, "")));
  return kept.length ? { ...rest, sort_by: kept } : rest;
}
