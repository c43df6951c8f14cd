/** Fields together: lists whose values no two documents share, and indexes of several fields. */
import { html } from "../app/html.js";
import { Icon } from "./icon.js";

/** @typedef {import("../app/collections.js").Definition} Definition */
/** @typedef {{ unique: string[][], indexes: string[][] }} Compounds */

// As the bounds of the service have them.
const MAX_LISTS = 8;
const MAX_FIELDS = 4;
const UNIQUE = new Set(["string", "integer", "number", "boolean", "datetime", "reference"]);
const INDEXED = new Set([...UNIQUE, "array"]);
const TIMES = ["created_at", "updated_at"];

/** @param {Partial<Compounds>} given @returns {Compounds} */
export const compoundsOf = ({ unique = [], indexes = [] }) => ({ unique, indexes });

/** A list that is only begun is not sent.
 * @param {Compounds} compounds @param {Partial<Compounds>} stored @returns {Partial<Compounds>} The lists that differ. */
export function changedCompounds(compounds, stored) {
  const before = Object.entries(compoundsOf(stored));
  const whole = before.map(([option, lists]) => ({ option, lists, next: compounds[/** @type {keyof Compounds} */ (option)].filter((names) => names.length > 1) }));
  return Object.fromEntries(whole.filter(({ lists, next }) => JSON.stringify(lists) !== JSON.stringify(next)).map(({ option, next }) => [option, next]));
}

/** @param {{ rows: import("../pages/schema.js").Row[], compounds: Compounds, change: (compounds: Compounds) => void, mayWrite: boolean }} given */
export function CompoundLists({ rows, compounds, change, mayWrite }) {
  const named = (/** @type {Set<string>} */ types) => rows.filter(({ name, definition, isRemoved }) => name && !isRemoved && types.has(definition.type)).map(({ name }) => name);
  const keys = [...named(INDEXED), ...TIMES].flatMap((name) => [[name, name], [`-${name}`, `${name}, descending`]]);
  const unique = named(UNIQUE).map((name) => [name, name]);
  return html`<div class="pad stack">
    <${Lists} title="Unique together" hint="No two documents have the same values of these fields." choices=${unique} lists=${compounds.unique} mayWrite=${mayWrite} add="Add a unique key"
      change=${(/** @type {string[][]} */ lists) => change({ ...compounds, unique: lists })} />
    <${Lists} title="Indexes of several fields" hint="Lists that filter by the first fields and sort by the next are fast." choices=${keys} lists=${compounds.indexes} mayWrite=${mayWrite} add="Add an index"
      change=${(/** @type {string[][]} */ lists) => change({ ...compounds, indexes: lists })} /></div>`;
}

/** @param {{ title: string, hint: string, add: string, choices: string[][], lists: string[][], mayWrite: boolean, change: (lists: string[][]) => void }} given */
function Lists({ title, hint, add, choices, lists, mayWrite, change }) {
  const set = (/** @type {number} */ at, /** @type {string[] | null} */ names) => change(lists.flatMap((each, index) => (index !== at ? [each] : names ? [names] : [])));
  return html`<section class="stack-small" aria-label=${title}><h2 class="field-label">${title}</h2><p class="field-hint">${hint}</p>
    ${lists.map((names, at) => html`<div class="row compound" role="group" aria-label=${`${title} ${at + 1}`} key=${at}>
      ${mayWrite ? html`${[...names, ""].slice(0, MAX_FIELDS).map((name, place) => html`<${Key} key=${place} label=${`${title} ${at + 1}, field ${place + 1}`} value=${name} choices=${choices}
          choose=${(/** @type {string} */ chosen) => set(at, names.toSpliced(place, 1, ...(chosen ? [chosen] : [])))} />`)}
        <button class="button button-quiet button-icon button-small" aria-label=${`Remove ${title.toLowerCase()} ${at + 1}`} onClick=${() => set(at, null)}><${Icon} name="x" small /></button>`
        : html`<code dir="auto">${names.join(", ")}</code>`}</div>`)}
    ${!mayWrite && !lists.length && html`<p class="soft">None.</p>`}
    ${mayWrite && lists.length < MAX_LISTS && html`<div><button class="button button-quiet" onClick=${() => change([...lists, []])}><${Icon} name="plus" />${add}</button></div>`}</section>`;
}

/** A name that the fields lack stays in sight.
 * @param {{ label: string, value: string, choices: string[][], choose: (name: string) => void }} given */
function Key({ label, value, choices, choose }) {
  const known = choices.some(([name]) => name === value) ? choices : [[value, value], ...choices];
  const all = value ? [["", "Leave it out"], ...known] : [["", "Field"], ...choices];
  return html`<select class="input input-small" aria-label=${label} onChange=${(/** @type {Event} */ event) => choose(/** @type {HTMLSelectElement} */ (event.currentTarget).value)}>
    ${all.map(([name, text]) => html`<option key=${name} value=${name} selected=${name === value}>${text}</option>`)}</select>`;
}
