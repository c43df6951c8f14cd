/** What stands at the right of a page and answers it; at 360 px it covers the page. Escape leaves it. */
import { useEffect, useId, useRef } from "preact/hooks";
import { html } from "../app/html.js";
import { Icon } from "./icon.js";

/** @param {{ title: string, name?: string, side?: unknown, size?: "" | "narrow" | "wide", close?: (() => void) | null, foot?: unknown,
 *   children?: unknown }} given `name` is said where the title is too long for a name. */
export function Panel({ title, name = "", side = null, size = "", close = null, foot = null, children }) {
  const id = useId();
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!close) return undefined;
    const before = document.activeElement;
    panel.current?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    // Else the same press would leave a dialog that is opened by it.
    event.preventDefault();
    close?.();
  };
  return html`<aside class=${`panel ${size && `panel-${size}`} ${close ? "is-over" : "is-beside"}`} ref=${panel} tabindex="-1"
      aria-label=${name || null} aria-labelledby=${name ? null : id} onKeyDown=${press}>
    <div class="panel-head"><h2 class="cut" id=${id} dir="auto">${title}</h2>${side}<span class="push" />
      ${close && html`<button class="button button-quiet button-icon" aria-label="Close" onClick=${close}><${Icon} name="x" /></button>`}</div>
    ${children}
    ${foot && html`<div class="panel-foot">${foot}</div>`}
  </aside>`;
}
