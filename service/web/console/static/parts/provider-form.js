/** The form of an identity provider, from the schema of its preset. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { call } from "../app/api.js";
import { html } from "../app/html.js";
import { me } from "../app/session.js";
import { Control } from "./control.js";
import { Alert, Field, useForm } from "./form.js";
import { Panel } from "./panel.js";
import { Secret } from "./secret.js";

/** @typedef {{ name: string, title: string, schema: { properties: Record<string, import("./control.js").Schema>, required: string[] } }} Preset */
/** @typedef {{ name: string, title: string, preset: string | null, redirect_url: string, settings: Record<string, string>, secrets: string[] }} Provider */

/** @param {string} name @returns {string} `CLIENT_ID` gives `Client id`. */
export const words = (name) => {
  const text = name.toLowerCase().replaceAll("_", " ").replace(/\burls?\b/g, "URL");
  return text.charAt(0).toUpperCase() + text.slice(1);
};

/** @param {{ project: string, preset: Preset, provider: Provider | null, close: () => void, done: () => void }} given */
export function ProviderPanel({ project, preset, provider, close, done }) {
  const id = useId();
  const [values, setValues] = useState(/** @type {Record<string, string | null>} */ (provider?.settings ?? {}));
  const form = useForm({ name: provider?.name ?? preset.name, ...Object.fromEntries(Object.keys(preset.schema.properties).map((name) => [name, ""])) }, async ({ name }) => {
    const body = { preset: preset.name, settings: Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null && value !== "")) };
    await call(`projects/${encodeURIComponent(project)}/providers/${encodeURIComponent(name ?? "")}`, { method: "PUT", body });
    done();
  });
  const { properties, required } = preset.schema;
  const others = Object.keys(properties).filter((name) => !required.includes(name));
  const redirect = provider?.redirect_url ?? `${me.value?.deployment.base_url}/auth-collections/auth-idp-redirect/${project}/${form.values.name}`;
  const show = (/** @type {string} */ name) => html`<${Setting} key=${name} id=${`${id}-${name}`} name=${name} schema=${properties[name]} form=${form} value=${values[name] ?? null}
    isSet=${provider?.secrets.includes(name) ?? false} required=${required.includes(name)} set=${(/** @type {any} */ value) => setValues((old) => ({ ...old, [name]: value }))} />`;
  return html`<${Panel} title=${provider ? provider.title : `New provider: ${preset.title}`} close=${close} name="Provider"
      foot=${html`<span class="push" /><button class="button" type="button" onClick=${close}>Cancel</button><button class="button button-primary" form=${id} aria-disabled=${form.isBusy}>Save</button>`}>
    <form class="panel-body provider" id=${id} onSubmit=${form.submit} novalidate><${Alert} form=${form} />
      <${Secret} name="Redirect URL" text=${redirect} hint=${`Register it at ${preset.title} first. There you then get the values below.`} />
      ${!provider && html`<${Field} form=${form} name="name" label="Name" hint="Lower-case letters, digits and hyphens. It stands in the redirect URL." />`}
      ${required.map(show)}
      <details class="more-settings"><summary>More settings</summary><div class="stack">${others.map(show)}</div></details>
    </form><//>`;
}

/** @param {{ id: string, name: string, schema: any, form: import("./form.js").FormState, value: any, isSet: boolean, required: boolean, set: (value: any) => void }} given */
function Setting({ id, name, schema, form, value, isSet, required, set }) {
  const fault = form.faults[name];
  const row = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const details = row.current?.closest("details");
    if (fault && details) details.open = true;
  }, [fault]);
  // A preset's own value is shown where nothing is typed.
  const plain = { ...schema, default: schema.enum ? null : schema.default };
  return html`<div class="field field-above" ref=${row}><label class=${`field-label ${required && !isSet ? "needed" : ""}`} for=${id}>${words(name)}</label>
    <${Control} id=${id} label=${words(name)} schema=${plain} value=${value} set=${set} hint=${`${id}-hint`} isSet=${isSet} isWrong=${!!fault} placeholder=${schema.default ?? ""} />
    <span id=${`${id}-hint`}><span class="field-hint">${isSet ? "It is set, and stays unless another is typed." : schema.description}</span>
      ${fault && html`<span class="field-error">${fault}</span>`}</span></div>`;
}
