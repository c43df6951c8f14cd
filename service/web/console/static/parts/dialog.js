/** A native dialog: it keeps the focus inside, Escape leaves it, and the focus returns to where it was. */
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { html } from "../app/html.js";

/** @param {{ title: string, close: () => void, size?: "" | "wide", children?: unknown }} given */
export function Dialog({ title, close, size = "", children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  const cancel = (/** @type {Event} */ event) => {
    event.preventDefault();
    close();
  };
  return html`<dialog class=${`dialog ${size && `dialog-${size}`}`} ref=${dialog} aria-labelledby=${id} onCancel=${cancel}>
    <div class="dialog-head"><h2 id=${id}>${title}</h2></div>
    ${children}
  </dialog>`;
}

/** A question before something that cannot be taken back.
 * @param {{ title: string, action: string, close: () => void, act: () => void, children?: unknown }} given */
export function Question({ title, action, close, act, children }) {
  const agree = () => {
    close();
    act();
  };
  return html`<${Dialog} title=${title} close=${close}>
    <div class="dialog-body">${children}</div>
    <div class="dialog-foot">
      <button class="button" type="button" onClick=${close}>Cancel</button>
      <button class="button button-danger" type="button" onClick=${agree}>${action}</button>
    </div>
  <//>`;
}
