/** Links to the parts of one thing, and a few choices of which one holds. */
import { useId } from "preact/hooks";
import { html } from "../app/html.js";

/** @param {{ label: string, tabs: { text: string, target: string, isCurrent: boolean, count?: string }[] }} given */
export function Tabs({ label, tabs }) {
  return html`<nav class="tabs" aria-label=${label}>${tabs.map(({ text, target, isCurrent, count }) => html`
    <a key=${text} class="tab" href=${target} aria-current=${isCurrent ? "page" : null}>${text}${count && html`<span class="tab-count">${count}</span>`}</a>`)}</nav>`;
}

/** One of a few, in sight. @param {{ label: string, value: string, choices: Record<string, string>, choose: (value: string) => void }} given */
export function Choice({ label, value, choices, choose }) {
  const name = useId();
  return html`<fieldset class="choice plain" aria-label=${label}>${Object.entries(choices).map(([key, text]) => html`<label key=${key}>
    <input type="radio" name=${name} checked=${key === value} onChange=${() => choose(key)} />${text}</label>`)}</fieldset>`;
}
