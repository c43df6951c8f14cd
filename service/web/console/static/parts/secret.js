/** Texts that are shown once: keys, links and codes, each with a button that copies it. */
import { useState } from "preact/hooks";
import { html } from "../app/html.js";
import { Icon } from "./icon.js";

/** @param {{ text: string, name: string }} given */
export function Copy({ text, name }) {
  const [isDone, done] = useState(false);
  const copy = () => navigator.clipboard.writeText(text).then(() => done(true), () => done(false));
  return html`<button class="button button-small" type="button" aria-label=${`Copy ${name}`} onClick=${copy}>
    <${Icon} name=${isDone ? "check" : "copy"} small />${isDone ? "Copied" : "Copy"}</button>`;
}

/** @param {{ name: string, text: string, hint?: string }} given */
export function Secret({ name, text, hint = "" }) {
  return html`<div class="secret">
    <div class="row"><b>${name}</b><span class="push" /><${Copy} text=${text} name=${name} /></div>
    ${hint && html`<p class="field-hint">${hint}</p>`}
    <code class="code secret-text" tabindex="0" role="group" aria-label=${name}>${text}</code>
  </div>`;
}
