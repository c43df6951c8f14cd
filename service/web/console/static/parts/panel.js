/** What stands at the right of a page and answers it; at 360 px it covers the page. Escape leaves it. */
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { html } from "../app/html.js";
import { Icon } from "./icon.js";

/** @param {{ title: string, name?: string, side?: unknown, size?: "" | "narrow" | "wide", close?: (() => void) | null, foot?: unknown,
 *   children?: unknown }} given `name` is said where the title is too long for a name. */
export function Panel({ title, name = "", side = null, size = "", close = null, foot = null, children }) {
  const id = useId();
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
  const leave = useRef(close);
  leave.current = close;
  // Before the next frame, for a key that is pressed at once belongs to the panel.
  useLayoutEffect(() => {
    if (!close) return undefined;
    const before = document.activeElement;
    panel.current?.focus();
    const press = (/** @type {KeyboardEvent} */ event) => {
      // A button that is disabled under the focus leaves it to the body.
      const isHere = event.target === document.body || panel.current?.contains(/** @type {Node} */ (event.target));
      if (event.key !== "Escape" || !isHere || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      // Else the same press would leave a dialog that is opened by it.
      event.preventDefault();
      leave.current?.();
    };
    document.addEventListener("keydown", press);
    return () => {
      document.removeEventListener("keydown", press);
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return html`<aside class=${`panel ${size && `panel-${size}`} ${close ? "is-over" : "is-beside"}`} ref=${panel} tabindex="-1"
      aria-label=${name || null} aria-labelledby=${name ? null : id}>
    <div class="panel-head"><h2 class="cut" id=${id} dir="auto">${title}</h2>${side}<span class="push" />
      ${close && html`<button class="button button-quiet button-icon" aria-label="Close" onClick=${close}><${Icon} name="x" /></button>`}</div>
    ${children}
    ${foot && html`<div class="panel-foot">${foot}</div>`}
  </aside>`;
}
