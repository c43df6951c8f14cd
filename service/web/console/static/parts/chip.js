/** A filter that holds, and the button that takes it away. */
import { html } from "../app/html.js";
import { Icon } from "./icon.js";

/** @param {{ word: string, value: string, remove: () => void }} given */
export function Chip({ word, value, remove }) {
  return html`<span class="chip is-on"><span class="chip-word">${word}</span><b class="cut" dir="auto">${value}</b>
    <button class="chip-close" aria-label=${`Remove the filter ${word}`} onClick=${remove}><${Icon} name="x" small /></button></span>`;
}
