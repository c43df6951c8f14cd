/** Forms: their values, the faults of the service at their fields, and one request at a time. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { ApiError } from "../app/api.js";
import { html } from "../app/html.js";

/** @typedef {{ values: Record<string, string>, faults: Record<string, string>, alert: string, isBusy: boolean,
 *   set: (name: string, value: string) => void, submit: (event?: Event) => Promise<void> }} FormState */

/** @template {Record<string, string>} Values @param {Values} first @param {(values: Values) => Promise<void>} send
 * @returns {FormState} Its `submit` shows what `send` raises. */
export function useForm(first, send) {
  const [values, setValues] = useState(first);
  const [faults, setFaults] = useState(/** @type {Record<string, string>} */ ({}));
  const [alert, setAlert] = useState("");
  const [isBusy, setBusy] = useState(false);
  const form = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    /** @type {HTMLElement | null | undefined} */ (form.current?.querySelector("[aria-invalid=true]"))?.focus();
  }, [faults]);

  /** @param {unknown} error */
  function showError(error) {
    const { fields, rest } = sort(error, values);
    setFaults(fields);
    setAlert(rest);
  }

  /** @param {Event} [event] */
  async function submit(event) {
    event?.preventDefault();
    if (isBusy) return;
    form.current = /** @type {HTMLElement | null} */ (event?.currentTarget ?? null);
    setBusy(true);
    setAlert("");
    setFaults({});
    await send(values).catch(showError).finally(() => setBusy(false));
  }
  return { values, faults, alert, isBusy, set: (name, value) => setValues((old) => ({ ...old, [name]: value })), submit };
}

/** @param {unknown} error @param {Record<string, string>} values
 * @returns {{ fields: Record<string, string>, rest: string }} What belongs at fields, and what does not. */
function sort(error, values) {
  if (!(error instanceof ApiError)) return { fields: {}, rest: error instanceof Error ? error.message : String(error) };
  const fieldOf = (/** @type {import("../app/api.js").Fault} */ { loc }) => loc.slice(1).map(String).find((part) => part in values);
  const fields = Object.fromEntries(error.faults.filter(fieldOf).map((fault) => [fieldOf(fault), fault.msg]));
  const others = error.faults.filter((fault) => !fieldOf(fault)).map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`);
  const rest = error.faults.length ? others.join(" ") : error.message + (error.needs ? ` Needed: ${error.needs}.` : "");
  return { fields, rest };
}

/** What no field is at fault for. @param {{ form: FormState }} given */
export function Alert({ form }) {
  return html`<p class="form-alert" role="alert">${form.alert}</p>`;
}

/** A text with its label, its hint and its fault.
 * @param {{ form: FormState, name: string, label: string, type?: string, hint?: string, autocomplete?: string,
 *   required?: boolean, autofocus?: boolean, readonly?: boolean, inputmode?: string }} given */
export function Field({ form, name, label, type = "text", hint = "", autocomplete = "off", required = true, ...more }) {
  const id = useId();
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  const [isShown, show] = useState(false);
  const fault = form.faults[name] ?? "";
  useEffect(() => {
    if (more.autofocus) input.current?.focus();
  }, []);
  const control = html`<input class="input" id=${id} ref=${input} name=${name} type=${isShown ? "text" : type} dir="auto"
    value=${form.values[name]} autocomplete=${autocomplete} required=${required} readonly=${more.readonly ?? false}
    inputmode=${more.inputmode} aria-invalid=${fault ? "true" : "false"} aria-describedby=${`${id}-hint`}
    onInput=${(/** @type {InputEvent} */ event) => form.set(name, /** @type {HTMLInputElement} */ (event.currentTarget).value)} />`;
  const switcher = html`<button class="link-button" type="button" aria-label=${`${isShown ? "Hide" : "Show"} what is typed`}
    onClick=${() => show(!isShown)}>${isShown ? "Hide" : "Show"}</button>`;
  return html`<div class="field field-above">
    <label class="field-label" for=${id}>${label}</label>
    ${type === "password" ? html`<span class="with-unit">${control}${switcher}</span>` : control}
    <span id=${`${id}-hint`}>${hint && html`<span class="field-hint">${hint}</span>`}
      ${fault && html`<span class="field-error">${fault}</span>`}</span>
  </div>`;
}

/** One of a few. @param {{ form: FormState, name: string, label: string, choices: Record<string, string> }} given */
export function Select({ form, name, label, choices }) {
  const id = useId();
  return html`<div class="field field-above">
    <label class="field-label" for=${id}>${label}</label>
    <select class="input" id=${id} onChange=${(/** @type {Event} */ event) => form.set(name, /** @type {HTMLSelectElement} */ (event.currentTarget).value)}>
      ${Object.entries(choices).map(([value, text]) => html`<option key=${value} value=${value} selected=${value === form.values[name]}>${text}</option>`)}
    </select>
    ${form.faults[name] && html`<span class="field-error">${form.faults[name]}</span>`}
  </div>`;
}

/** Yes or no; the value is `true` or `false` as text. @param {{ form: FormState, name: string, label: string, hint?: string }} given */
export function Check({ form, name, label, hint = "" }) {
  const id = useId();
  return html`<div><label class="row"><input class="check" type="checkbox" checked=${form.values[name] === "true"} aria-describedby=${id}
      onChange=${(/** @type {Event} */ event) => form.set(name, String(/** @type {HTMLInputElement} */ (event.currentTarget).checked))} />${label}</label>
    <span id=${id} class="field-hint">${hint}</span></div>`;
}

/** The buttons below a form in a dialog. A button that is busy keeps the focus, which a disabled one loses. @param {{ form: FormState, action: string, close: () => void }} given */
export function DialogFoot({ form, action, close }) {
  return html`<div class="dialog-foot">
    <button class="button" type="button" onClick=${close}>Cancel</button>
    <button class="button button-primary" aria-disabled=${form.isBusy}>${action}</button>
  </div>`;
}
