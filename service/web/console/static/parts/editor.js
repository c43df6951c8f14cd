/** A text of code, such as JSON, with the numbers of its lines and the place of its fault. */
import { useId } from "preact/hooks";
import { html } from "../app/html.js";

/** @typedef {{ line: number, text: string }} Mistake */

/** @param {string} text @returns {{ value: any, mistake: null } | { value: undefined, mistake: Mistake }} */
export function parseJson(text) {
  try {
    return { value: JSON.parse(text), mistake: null };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const line = /line (\d+)/.exec(message)?.[1];
    const at = /position (\d+)/.exec(message)?.[1];
    const found = line ?? text.slice(0, Number(at ?? text.length)).split("\n").length;
    return { value: undefined, mistake: { line: Number(found), text: message.replace(/^JSON\.parse: /, "") } };
  }
}

/** @param {unknown} value @returns {string} As it is edited. */
export const writeJson = (value) => JSON.stringify(value, null, 2) ?? "";

/** @param {{ label: string, value: string, mistake?: Mistake | null, readonly?: boolean, rows?: number,
 *   change?: (text: string) => void }} given */
export function Editor({ label, value, mistake = null, readonly = false, rows = 4, change = () => undefined }) {
  const id = useId();
  const lines = value.split("\n").length;
  const numbers = Array.from({ length: Math.max(lines, rows) }, (_, index) => `${index + 1 <= lines ? index + 1 : ""}`);
  return html`<div class="code-edit">
    <div class="code code-edit-box" data-bad=${mistake ? "true" : null}>
      <pre class="code-edit-lines" aria-hidden="true">${numbers.map((each, index) => html`<span key=${index} class=${mistake?.line === index + 1 ? "bad" : ""}>${each}${"\n"}</span>`)}</pre>
      <textarea class="code-edit-text" aria-label=${label} spellcheck="false" autocomplete="off" wrap="off" rows=${numbers.length}
        aria-invalid=${mistake ? "true" : "false"} aria-describedby=${id} readonly=${readonly} value=${value}
        onInput=${(/** @type {InputEvent} */ event) => change(/** @type {HTMLTextAreaElement} */ (event.currentTarget).value)} />
    </div>
    <span id=${id}>${mistake && html`<span class="field-error">Line ${mistake.line}: ${mistake.text}</span>`}</span>
  </div>`;
}
