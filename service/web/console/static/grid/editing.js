/** The cell that is edited in its place: a text over the cell. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { html } from "../app/html.js";

const KINDS = new Set(["string", "integer", "number", "boolean", "datetime"]);

/** @param {import("./columns.js").Column} column @returns {boolean} */
export const isEditable = ({ field, kind }) => field !== "" && KINDS.has(kind);

/** @param {string} text As it was typed. @param {import("../app/collections.js").Definition | null} definition
 * @returns {unknown} What is sent; undefined where the field is to be absent. */
export function readTyped(text, definition) {
  const type = definition?.type;
  if (text === "" && type !== "string") return definition?.nullable && definition.required ? null : undefined;
  if (text === "" && !definition?.required) return undefined;
  if (type === "integer" || type === "number") return Number.isNaN(Number(text)) ? text : Number(text);
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  return text;
}

/** @param {unknown} value @returns {string} */
export const writeTyped = (value) => (value === null || value === undefined ? "" : String(value));

/** @param {{ row: any, column: import("./columns.js").Column, place: () => string, top: number,
 *   end: (text: string | null, step: number) => void }} given `end` takes null where nothing is to be saved. */
export function CellEditor({ row, column, place, top, end }) {
  const input = useRef(/** @type {HTMLInputElement & HTMLSelectElement | null} */ (null));
  const isDone = useRef(false);
  const before = writeTyped(column.read(row));
  useLayoutEffect(() => {
    const cell = document.getElementById(place());
    const box = input.current;
    if (!cell || !box) return;
    box.style.top = `${top}px`;
    box.style.left = `${cell.offsetLeft}px`;
    box.style.width = `${cell.offsetWidth}px`;
    box.style.height = `${cell.offsetHeight}px`;
    box.focus();
    if (box instanceof HTMLInputElement) box.select();
  }, []);
  const finish = (/** @type {boolean} */ isKept, /** @type {number} */ step = 0) => {
    if (isDone.current) return;
    isDone.current = true;
    const text = input.current?.value ?? "";
    end(isKept && text !== before ? text : null, step);
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    event.stopPropagation();
    if (event.key === "Enter") finish(true);
    else if (event.key === "Escape") finish(false);
    else if (event.key === "Tab") finish(true, event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
  };
  const common = { class: "input grid-editor", "aria-label": column.title, ref: input, onKeyDown: press, onBlur: () => finish(true) };
  const choices = column.kind === "boolean" ? ["", "true", "false"] : column.definition?.enum?.map(String);
  if (choices) return html`<select ...${common}>${[...new Set([before, ...choices])].map((each) => html`<option key=${each} value=${each} selected=${each === before}>${each || "none"}</option>`)}</select>`;
  return html`<input ...${common} dir="auto" value=${before} inputmode=${column.kind === "integer" ? "numeric" : null} />`;
}
