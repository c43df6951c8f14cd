/** A field of a record, by its definition: what is typed is text, and is sent as the type that the schema wants. */
import { useId } from "preact/hooks";
import { html } from "../app/html.js";
import { iconOf } from "../grid/columns.js";
import { Editor, parseJson } from "./editor.js";
import { FileInput } from "./files.js";
import { Icon } from "./icon.js";
import { Relation } from "./relation.js";

/** @typedef {import("../app/collections.js").Definition} Definition */
/** `typed` is a text, or a list of files to send.
 * @typedef {{ name: string, definition: Definition, typed: string, before: string, fault: string, project: string, readonly: boolean,
 *   stored: unknown, files: File[], change: (text: string) => void, attach: (files: File[]) => void }} Given */

const TALL = 80;

/** @param {Given} given */
export function RecordField(given) {
  const { name, definition, typed, before, fault } = given;
  const id = useId();
  const isChanged = typed !== before || given.files.length > 0;
  return html`<div class=${`field ${isChanged ? "is-changed" : ""}`}>
    <label class="field-label" for=${id}><${Icon} name=${iconOf(definition.type)} small /><span class=${`cut ${definition.required ? "needed-mark" : ""}`} dir="auto" title=${name}>${name}</span></label>
    <div class="field-body"><${Control} id=${id} ...${given} />
      <span id=${`${id}-hint`}>${isChanged && before !== "" && definition.type !== "file" && html`<span class="field-hint cut" dir="auto">was ${before.slice(0, 80)}</span>`}
        ${fault && html`<span class="field-error">${fault}</span>`}</span></div>
  </div>`;
}

/** @param {Given & { id: string }} given */
function Control(given) {
  const { id, name, definition, typed, fault, readonly, change, project } = given;
  const set = (/** @type {Event} */ event) => change(/** @type {HTMLInputElement} */ (event.currentTarget).value);
  const common = { id, "aria-invalid": fault ? "true" : "false", "aria-describedby": `${id}-hint`, readonly, "aria-label": name };
  const choices = definition.type === "boolean" ? ["true", "false"] : definition.enum?.map(String);
  if (choices)
    return html`<select class="input" ...${{ ...common, readonly: undefined }} disabled=${readonly} onChange=${set}>
      ${["", ...choices].map((each) => html`<option key=${each} value=${each} selected=${each === typed}>${each || "none"}</option>`)}</select>`;
  if (definition.type === "reference")
    return html`<${Relation} id=${id} name=${name} project=${project} collection=${definition.collection ?? ""} value=${typed} readonly=${readonly} change=${change} isBad=${Boolean(fault)} />`;
  if (definition.type === "file" || (definition.type === "array" && definition.items?.type === "file"))
    return html`<${FileInput} id=${id} definition=${definition} typed=${typed} files=${given.files} readonly=${readonly} change=${change} attach=${given.attach} />`;
  if (["object", "array", "any"].includes(definition.type))
    return html`<${Editor} label=${name} value=${typed} rows=${1} readonly=${readonly} change=${change} mistake=${typed ? parseJson(typed).mistake : null} />`;
  if (definition.type === "string" && typed.length > TALL)
    return html`<textarea class="input" ...${common} dir="auto" rows="5" value=${typed} onInput=${set} />`;
  return html`<input class="input" ...${common} dir="auto" value=${typed} onInput=${set} inputmode=${definition.type === "integer" ? "numeric" : null}
    placeholder=${definition.type === "datetime" ? "2026-01-31T12:00:00Z" : null} />`;
}
