/** A reference: shown by the label of its record, chosen by a search that the service makes, from any number of records. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { call } from "../app/api.js";
import { pathOf, pathOfCollection, readCollections } from "../app/collections.js";
import { html } from "../app/html.js";
import { link } from "../app/router.js";
import { labelField, labelOf, queryName, shortText } from "../grid/columns.js";
import { Icon } from "./icon.js";

const PAUSE_MS = 150;
const SHOWN = 8;
const ID = /^[0-9a-f]{24}$/;

/** @typedef {{ id: string, label: string, sides: string }} Found */

/** @param {string} project @param {string} collection */
async function source(project, collection) {
  if (collection === "users") return { path: `${pathOf(project)}/auth-collections/users/query`, list: "users", label: "name", search: "email", one: `${pathOf(project)}/auth-collections/users/` };
  const label = labelField((await readCollections(project)).find((each) => each.name === collection));
  const path = pathOfCollection(project, collection);
  return { path: `${path}/query`, list: "documents", label, search: label && queryName(label), one: `${path}/documents/` };
}

/** @param {any} record @param {string} label @returns {Found} */
function describe(record, label) {
  const others = Object.entries(record.data).filter(([field, value]) => field !== label && ["string", "number"].includes(typeof value));
  const sides = [label && record.email, ...others.slice(0, 2).map(([, value]) => shortText(value).slice(0, 40))].filter(Boolean).join(", ");
  return { id: record.id, label: labelOf(record, label) || record.id, sides };
}

/** @param {string} project @param {string} collection @param {string} text @param {AbortSignal} signal @returns {Promise<Found[]>} */
async function searchRecords(project, collection, text, signal) {
  const { path, list, label, search } = await source(project, collection);
  const byText = text && search ? { [`${search}_icontains`]: text } : {};
  const where = ID.test(text) ? { id_eq: text } : byText;
  const body = await call(path, { method: "POST", body: { where, limit: SHOWN, count: "none" }, isRead: true, signal });
  return body[list].map((/** @type {any} */ each) => describe(each, label));
}

/** @param {{ id: string, name: string, project: string, collection: string, value: string, readonly: boolean, isBad: boolean,
 *   change: (id: string) => void }} given */
export function Relation({ id, name, project, collection, value, readonly, isBad, change }) {
  const [chosen, choose] = useState(/** @type {Found | null} */ (null));
  const [isOpen, open] = useState(false);
  const [text, setText] = useState("");
  const [found, find] = useState(/** @type {Found[] | string | null} */ (null));
  const [active, setActive] = useState(0);
  const box = useRef(/** @type {HTMLInputElement | null} */ (null));
  const list = useId();
  useEffect(() => {
    if (!value || chosen?.id === value) return;
    choose(null);
    source(project, collection)
      .then(({ one, label }) => call(one + encodeURIComponent(value)).then((record) => choose(describe(record, label))))
      .catch(() => choose({ id: value, label: "gone", sides: "" }));
  }, [value]);
  useEffect(() => {
    if (!isOpen) return undefined;
    const aborter = new AbortController();
    const timer = setTimeout(() => {
      searchRecords(project, collection, text.trim(), aborter.signal).then(
        (records) => { find(records); setActive(0); },
        (error) => aborter.signal.aborted || find(error.message));
    }, text ? PAUSE_MS : 0);
    return () => { clearTimeout(timer); aborter.abort(); };
  }, [isOpen, text]);
  const records = Array.isArray(found) ? found : [];
  const take = (/** @type {Found | undefined} */ record) => {
    if (!record) return;
    choose(record);
    change(record.id);
    shut();
  };
  const shut = () => { open(false); setText(""); };
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "ArrowDown" && !isOpen) open(true);
    else if (event.key === "ArrowDown") setActive(Math.min(active + 1, records.length - 1));
    else if (event.key === "ArrowUp") setActive(Math.max(active - 1, 0));
    else if (event.key === "Enter" && isOpen) take(records[active]);
    else if (event.key === "Escape" && isOpen) shut();
    else return;
    event.preventDefault();
  };
  const shown = value ? (chosen?.id === value ? chosen.label : value) : "";
  const target = collection === "users" ? link(["projects", project, "users", value]) : link(["projects", project, "data", collection], { record: value });
  return html`<div class="relation-box" onFocusOut=${(/** @type {FocusEvent} */ event) => event.relatedTarget instanceof Node && /** @type {Element} */ (event.currentTarget).contains(event.relatedTarget) || shut()}>
    <div class=${`relation ${isOpen ? "is-open" : ""}`}><span class="id">${value && chosen ? value.slice(-6) : ""}</span>
      <input class="relation-text" id=${id} ref=${box} role="combobox" aria-label=${name} aria-expanded=${isOpen} aria-controls=${list} autocomplete="off" dir="auto"
        aria-activedescendant=${isOpen && records[active] ? `${list}-${active}` : null} aria-invalid=${isBad ? "true" : "false"} readonly=${readonly}
        placeholder=${isOpen ? "Search" : "none"} value=${isOpen ? text : shown} onKeyDown=${press} onClick=${() => readonly || open(true)}
        onInput=${(/** @type {Event} */ event) => { open(true); setText(/** @type {HTMLInputElement} */ (event.currentTarget).value); }} />
      ${value && !readonly && html`<button class="button button-quiet button-icon button-small" type="button" aria-label=${`Clear ${name}`} onClick=${() => change("")}><${Icon} name="x" small /></button>`}
      ${value && html`<a class="button button-quiet button-icon button-small" aria-label=${`Open the record of ${name}`} href=${target}><${Icon} name="arrow-up-right" small /></a>`}</div>
    <div class="menu relation-picker" id=${list} role="listbox" aria-label=${name} hidden=${!isOpen}>
      ${isOpen && records.map((each, at) => html`<div key=${each.id} class="menu-item" id=${`${list}-${at}`} role="option" aria-selected=${at === active}
        onMouseDown=${(/** @type {Event} */ event) => { event.preventDefault(); take(each); }}><span class="relation-name"><span class="cut" dir="auto">${each.label}</span><span class="small faint cut" dir="auto">${each.sides}</span></span>
        <span class="push id">${each.id.slice(-6)}</span>${each.id === value && html`<${Icon} name="check" small />`}</div>`)}
      ${isOpen && Array.isArray(found) && !found.length && html`<p class="menu-label" role="option" aria-selected="false" aria-disabled="true">Nothing matches. The search looks at names and whole ids.</p>`}
      ${isOpen && typeof found === "string" && html`<p class="menu-label" role="option" aria-selected="false" aria-disabled="true">${found}</p>`}</div>
  </div>`;
}
