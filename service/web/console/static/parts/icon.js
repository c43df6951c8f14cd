/** Icons of the sprite. Each stands beside a word, or in a button that has a name. */
import { html } from "../app/html.js";

const SPRITE = new URL("../vendor/lucide.svg", import.meta.url).href;

/** @param {{ name: string, small?: boolean, tone?: string }} given */
export function Icon({ name, small = false, tone = "" }) {
  return html`<svg class=${`icon ${small ? "icon-small" : ""} ${tone}`} aria-hidden="true"><use href=${`${SPRITE}#${name}`} /></svg>`;
}

export function Logo() {
  return html`<svg class="logo" viewBox="0 0 20 20" aria-hidden="true"><rect width="20" height="20" rx="5" /><circle cx="6.1" cy="6.6" r="1.5" /><path d="M9.6 6.6h4.9M5.4 10.2h9.1M5.4 13.8h6" /></svg>`;
}
