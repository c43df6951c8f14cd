/** Settings as a list of rows, and the bar below the page that says what is pending. */
import { useId, useState } from "preact/hooks";
import { html } from "../app/html.js";
import { number } from "../app/texts.js";
import { Control } from "./control.js";
import { Difference } from "./difference.js";
import { Dialog } from "./dialog.js";
import { Icon } from "./icon.js";

/** @typedef {import("./settings.js").Settings} Settings */
/** @typedef {import("./control.js").Schema} Schema */

const SIZES = /** @type {[number, string][]} */ ([[86_400, "day"], [3_600, "hour"], [60, "minute"]]);

/** @param {number} seconds @returns {string} `30 days`; empty below a minute. */
function duration(seconds) {
  const size = SIZES.find(([length]) => seconds >= length && seconds % length === 0);
  return size ? `${number(seconds / size[0])} ${size[1]}${seconds === size[0] ? "" : "s"}` : "";
}

/** @param {Schema} form @param {any} value @returns {string} */
export function describe(form, value) {
  if (typeof value === "boolean") return value ? "on" : "off";
  if (value === null || value === undefined) return "nothing";
  if (typeof value !== "number") return typeof value === "object" ? JSON.stringify(value) : String(value);
  if (value === 0 && form["x-zero"]) return form["x-zero"];
  return (form["x-unit"] === "seconds" && duration(value)) || number(value);
}

/** The settings of each group. @param {{ settings: Settings, names: string[], mayWrite: boolean }} given */
export function SettingList({ settings, names, mayWrite }) {
  const groups = Map.groupBy(names, (name) => settings.forms[name]?.["x-group"] ?? "");
  const submit = (/** @type {Event} */ event) => { event.preventDefault(); settings.save(); };
  return html`<form class="settings" onSubmit=${submit}><fieldset class="plain" disabled=${!mayWrite} aria-label="Settings">${[...groups].map(([group, members]) => html`
    <section key=${group} aria-label=${group}><h2 class="settings-group">${group}</h2>
      ${members.map((name) => html`<${Setting} key=${name} settings=${settings} name=${name} />`)}</section>`)}</fieldset><button hidden /></form>`;
}

/** @param {{ settings: Settings, name: string }} given */
function Setting({ settings, name }) {
  const id = useId();
  const { draft, found } = settings;
  const form = /** @type {Schema} */ (settings.forms[name]);
  const isEdited = name in draft.edits;
  const value = (isEdited ? draft.edits[name] : found.settings[name]) ?? (form.writeOnly ? null : form.default);
  // A secret that is typed and erased stays as it is.
  const change = (/** @type {any} */ given) => (form.writeOnly && given === null ? settings.undo(name) : settings.set(name, given));
  return html`<div class=${`setting ${isEdited ? "is-changed" : ""}`}>
    <div><span class="setting-name">${form.title}</span><p>${plain(form.description)}</p></div>
    <div class="setting-control">
      <${Control} id=${id} label=${form.title} schema=${form} value=${value} hint=${`${id}-hint`} isWrong=${name in draft.faults}
        isSet=${found.secrets.includes(name)} set=${change} />
      <span id=${`${id}-hint`}><${Hint} settings=${settings} name=${name} form=${form} value=${value} />
        ${draft.faults[name] && html`<span class="field-error">${draft.faults[name]}</span>`}</span>
      <${Needs} settings=${settings} form=${form} value=${value} />
      ${draft.conflicts[name] && html`<${Versions} settings=${settings} name=${name} form=${form} />`}
    </div></div>`;
}

/** @param {string} text A description @returns {unknown} Its code in the fixed face. */
const plain = (text) => text.split("`").map((part, index) => (index % 2 ? html`<code>${part}</code>` : part));

/** How the value stands to the saved one and to the default.
 * @param {{ settings: Settings, name: string, form: Schema, value: any }} given */
function Hint({ settings, name, form, value }) {
  const { draft, found } = settings;
  const isSet = name in found.settings || found.secrets.includes(name);
  const before = form.writeOnly ? (isSet ? "set" : "not set") : describe(form, found.settings[name] ?? form.default);
  const reset = html`<button class="link-button" type="button" aria-label=${`Reset ${form.title}`} onClick=${() => settings.set(name, null)}>${form.writeOnly ? "Remove" : "Reset"}</button>`;
  const undo = html`<button class="link-button" type="button" aria-label=${`Undo ${form.title}`} onClick=${() => settings.undo(name)}>Undo</button>`;
  const means = typeof value === "number" && describe(form, value) !== number(value) ? `${describe(form, value)}. ` : "";
  const text = name in draft.edits ? html`${draft.edits[name] === null && (form.writeOnly ? "It will be removed. " : "The default. ")}Was ${before}. ${undo}`
    : isSet ? html`${form.writeOnly ? "It is set, and not shown." : `Changed from ${describe(form, form.default)}.`} ${reset}`
      : form.writeOnly ? "Not set." : `The default.${limits(form)}`;
  return html`<span class="field-hint">${means}${text}</span>`;
}

/** @param {Schema} form @returns {string} */
const limits = ({ minimum, maximum = Infinity }) =>
  minimum !== undefined && maximum < 1e9 ? ` From ${number(minimum)} to ${number(maximum)}.` : "";

/** What a setting that is on needs, with the way there. @param {{ settings: Settings, form: Schema, value: any }} given */
function Needs({ settings, form, value }) {
  const missing = value ? Object.entries(form["x-needs"] ?? {}).filter(([name, needed]) =>
    (name in settings.draft.edits ? settings.draft.edits[name] : settings.found.settings[name]) !== needed) : [];
  return missing.map(([name, needed]) => html`<span key=${name} class="field-hint warn row needs"><${Icon} name="triangle-alert" small />
    <span>Needs ${settings.forms[name]?.title ?? name} to be ${needed}. <button class="link-button" type="button" onClick=${() => settings.set(name, needed)}>Set it</button></span></span>`);
}

/** The value of this operator and that of another. @param {{ settings: Settings, name: string, form: Schema }} given */
function Versions({ settings, name, form }) {
  const id = useId();
  const conflict = settings.draft.conflicts[name];
  return html`<fieldset class="plain" aria-label=${`Whose ${form.title}`}>${/** @type {const} */ (["mine", "theirs"]).map((choice) => html`<label key=${choice} class="row">
    <input type="radio" name=${id} checked=${conflict?.choice === choice} onChange=${() => settings.choose(name, choice)} />
    ${choice === "mine" ? "Mine" : "Theirs"}: ${form.writeOnly ? "***" : describe(form, conflict?.[choice] ?? form.default)}</label>`)}</fieldset>`;
}

/** What is pending. @param {{ settings: Settings }} given */
export function SaveBar({ settings }) {
  const [changes, show] = useState(/** @type {import("./settings.js").Change[] | null} */ (null));
  const { draft, forms, isBusy } = settings;
  const names = Object.keys(draft.edits);
  const isOpen = Object.values(draft.conflicts).some(({ choice }) => !choice);
  if (!names.length && !draft.alert) return null;
  const close = () => show(null);
  const save = () => { close(); settings.save(); };
  return html`${draft.alert && html`<p class="banner banner-bad" role="alert"><${Icon} name="circle-alert" />${draft.alert}</p>`}
    <footer class="save-bar"><span class="cut"><b>${names.length} ${names.length === 1 ? "change" : "changes"}</b> <span class="soft wide">${names.map((name) => forms[name]?.title).join(", ")}</span></span>
      <span class="push" /><button class="button" onClick=${settings.revert}>Revert</button>
      ${names.length > 0 && html`<button class="button wide" disabled=${isBusy || isOpen} onClick=${() => settings.preview().then((found) => found && show(found))}>Show difference</button>
      <button class="button button-primary" disabled=${isBusy || isOpen} onClick=${save}>Save</button>`}</footer>
    ${changes && html`<${Dialog} title="What will change" close=${close}><div class="dialog-body">
      ${changes.length ? html`<${Difference} changes=${changes} />` : html`<p class="soft">Nothing: the values are those that are saved.</p>`}</div>
      <div class="dialog-foot"><button class="button" onClick=${close}>Back</button><button class="button button-primary" onClick=${save}>Save</button></div><//>`}`;
}
