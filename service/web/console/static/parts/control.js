/** The control that a JSON Schema asks for: of a setting of a project, or of a provider. */
import { html } from "../app/html.js";
import { Choice } from "./tabs.js";

/** @typedef {{ type: string, title?: string, description: string, default: any, enum?: string[], minimum?: number, maximum?: number,
 *   maxLength?: number, writeOnly?: boolean, "x-unit"?: string, "x-zero"?: string, "x-needs"?: Record<string, string>, "x-group"?: string }} Schema */
/** @typedef {{ id: string, label: string, schema: Schema, value: any, set: (value: any) => void, hint: string, isSet?: boolean,
 *   isWrong?: boolean, required?: boolean, placeholder?: string }} Given `hint` is the id of what describes it; `isSet` is of a secret. */

const SHORT = 4;

/** @param {Given} given */
export function Control(given) {
  if (given.schema.type === "boolean") return html`<${Switch} ...${given} />`;
  if (given.schema.enum) return html`<${OneOf} ...${given} />`;
  return html`<${Text} ...${given} />`;
}

/** @param {Given} given */
function Switch({ id, label, value, set, hint }) {
  const change = (/** @type {Event} */ event) => set(/** @type {HTMLInputElement} */ (event.currentTarget).checked);
  return html`<label class="row switch-line"><input class="switch" type="checkbox" role="switch" id=${id} checked=${!!value} aria-label=${label}
    aria-describedby=${hint} onChange=${change} /><span class="soft">${value ? "On" : "Off"}</span></label>`;
}

/** A few are shown side by side; where none need be chosen, one of the choices says so. @param {Given} given */
function OneOf({ id, label, schema, value, set, hint, isWrong }) {
  const values = [...(schema.default === null ? [null] : []), ...(schema.enum ?? [])];
  if (values.length > SHORT || schema.default === null)
    return html`<select class="input" id=${id} aria-label=${label} aria-describedby=${hint} aria-invalid=${isWrong ? "true" : "false"}
      onChange=${(/** @type {Event} */ event) => set(/** @type {HTMLSelectElement} */ (event.currentTarget).value || null)}>
      ${values.map((each) => html`<option key=${each} value=${each ?? ""} selected=${each === value}>${each ?? "by default"}</option>`)}</select>`;
  return html`<${Choice} label=${label} value=${value} choices=${Object.fromEntries(values.map((each) => [each, each]))} choose=${set} />`;
}

/** @param {Given} given */
function Text({ id, label, schema, value, set, hint, isSet, isWrong, required, placeholder = "" }) {
  const type = (/** @type {InputEvent} */ event) =>
    set(readText(schema, /** @type {HTMLInputElement | HTMLTextAreaElement} */ (event.currentTarget).value));
  const shared = { id, "aria-label": label, "aria-describedby": hint, "aria-invalid": isWrong ? "true" : "false", onInput: type, required,
    value: writeText(value), autocomplete: "off", spellcheck: false, placeholder: isSet ? "***" : placeholder };
  if (schema.type === "object" || /PEM/.test(schema.description))
    return html`<textarea class="input mono" rows="4" ...${shared} />`;
  const unit = schema.type === "integer" ? (schema["x-unit"] ?? "") : "";
  // A field of the type `password` would be filled with the operator's own.
  return html`<label class="with-unit"><input class=${`input ${schema.writeOnly ? "is-secret" : ""}`} dir="auto" ...${shared}
    inputmode=${schema.type === "integer" ? "numeric" : null} maxlength=${schema.maxLength} />${unit && html`<span aria-hidden="true">${unit}</span>`}</label>`;
}

/** @param {Schema} schema @param {string} text @returns {any} What cannot be read stays as it is: the service says why. */
function readText(schema, text) {
  if (text.trim() === "") return null;
  if (schema.type === "integer") return /^\d{1,15}$/.test(text.trim()) ? Number(text) : text;
  return text;
}

/** @param {any} value @returns {string} */
const writeText = (value) => (value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value, null, 2) : String(value));
