/** What changed, for those who hear the page, and for a moment for those who see it. */
import { signal } from "@preact/signals";
import { html } from "./html.js";

const SHOWN_MS = 4_000;
const text = signal("");
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/** @param {string} sentence */
export function announce(sentence) {
  clearTimeout(timer);
  text.value = sentence;
  timer = setTimeout(() => {
    text.value = "";
  }, SHOWN_MS);
}

export function Announcements() {
  return html`<div class="notice" role="status">${text.value && html`<p class="toast">${text.value}</p>`}</div>`;
}
