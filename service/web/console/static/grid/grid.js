/** A grid of records: one tab stop, arrows between its cells, a pool of rows, and a cell that is edited in its place. */
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { html } from "../app/html.js";
import { Icon } from "../parts/icon.js";
import { iconOf } from "./columns.js";
import { CellEditor, isEditable } from "./editing.js";
import { move, toTsv } from "./moving.js";
import { Pool } from "./pool.js";

/** @typedef {import("./columns.js").Column} Column */
/** `save` sends one value as it was typed, and raises where the service refuses it.
 * @typedef {{ label: string, columns: Column[], rows: import("./rows.js").Rows, turn: number, sort: string, order: (path: string) => void,
 *   opened: string, open: (row: any) => void, selected: Map<string, any>, select: (selected: Map<string, any>) => void,
 *   save: ((row: any, column: Column, text: string) => Promise<void>) | null, remove: (() => void) | null }} Given */

const NARROW = matchMedia("(max-width: 760px)");
const COARSE = matchMedia("(pointer: coarse)");
const heightOf = () => (NARROW.matches ? 64 : COARSE.matches ? 44 : 32);

/** @param {Given} given */
export function Grid(given) {
  const { label, columns, rows, selected, opened } = given;
  const id = useId();
  const root = useRef(/** @type {HTMLDivElement | null} */ (null));
  const pool = useRef(/** @type {Pool | null} */ (null));
  const [active, setActive] = useState({ row: 0, column: 0 });
  const [editing, edit] = useState(/** @type {{ row: number, column: number } | null} */ (null));
  const [marks, mark] = useState(/** @type {Record<string, string>} */ ({}));
  const [height, setHeight] = useState(heightOf);
  const anchor = useRef(0);

  const view = {
    columns, at: (/** @type {number} */ index) => rows.at(index), known: rows.known, active, opened, height,
    isSelected: (/** @type {any} */ row) => selected.has(row.id),
    mark: (/** @type {any} */ row, /** @type {Column} */ column) => marks[`${row.id} ${column.path}`] ?? "",
  };
  const latest = useRef(view);
  latest.current = view;

  const draw = (/** @type {boolean} */ isForced) => {
    const box = root.current;
    if (!box || !pool.current) return;
    // Both are read before the pool writes, for each read after a write computes the layout.
    const { scrollTop, clientHeight } = box;
    pool.current.draw(latest.current, scrollTop, isForced);
    rows.reach(Math.ceil((scrollTop + clientHeight) / height));
  };
  useEffect(() => {
    const measure = () => setHeight(heightOf());
    const observer = new ResizeObserver(() => {
      pool.current?.prepare(latest.current, root.current?.clientHeight ?? 0);
      draw(true);
    });
    if (root.current) observer.observe(root.current);
    NARROW.addEventListener("change", measure);
    return () => {
      observer.disconnect();
      NARROW.removeEventListener("change", measure);
    };
  }, [height, rows]);
  useLayoutEffect(() => {
    const body = root.current?.querySelector(".grid-body");
    if (!root.current || !(body instanceof HTMLElement)) return;
    root.current.style.setProperty("--columns", `36px ${columns.map(({ width }, at) => (at === columns.length - 1 ? `minmax(${width}px, 1fr)` : `${width}px`)).join(" ")}`);
    body.style.height = `${rows.known * height}px`;
    pool.current ??= new Pool(body, id);
    pool.current.prepare(view, root.current.clientHeight);
    draw(true);
    const shown = pool.current.idOf(active.row, active.column);
    if (shown && rows.known) root.current.setAttribute("aria-activedescendant", shown);
    else root.current.removeAttribute("aria-activedescendant");
  });

  const goTo = (/** @type {number} */ row, /** @type {number} */ column) => {
    const next = { row: Math.max(0, Math.min(row, rows.known - 1)), column: Math.max(0, Math.min(column, columns.length - 1)) };
    setActive(next);
    show(root.current, next, height, pool.current);
    return next;
  };
  const store = async (/** @type {any} */ row, /** @type {Column} */ column, /** @type {string} */ text) => {
    const key = `${row.id} ${column.path}`;
    mark((old) => ({ ...old, [key]: "pending" }));
    const failure = await given.save?.(row, column, text).then(() => "", (error) => error.message);
    mark((old) => ({ ...old, [key]: failure ?? "" }));
  };
  const begin = (/** @type {number} */ row, /** @type {number} */ column) => {
    const found = rows.at(row);
    const at = columns[column];
    if (!found || !at) return;
    if (given.save && isEditable(at)) edit({ row, column });
    else given.open(found);
  };
  const toggle = (/** @type {number[]} */ indexes, /** @type {boolean | undefined} */ isOn) => {
    const next = new Map(selected);
    for (const index of indexes) {
      const row = rows.at(index);
      if (!row) continue;
      if (isOn ?? !next.has(row.id)) next.set(row.id, row);
      else next.delete(row.id);
    }
    given.select(next);
  };

  const press = (/** @type {KeyboardEvent} */ event) => {
    if (editing || event.altKey) return;
    const moved = move(event, active, rows.known, columns.length, Math.floor((root.current?.clientHeight ?? 0) / height) - 1);
    if (moved) {
      if (!event.shiftKey) anchor.current = moved.row;
      goTo(moved.row, moved.column);
      if (event.shiftKey) toggle(range(anchor.current, moved.row), true);
    } else if (event.key === "Enter" && event.shiftKey) given.open(rows.at(active.row));
    else if (event.key === "Enter" || event.key === "F2") begin(active.row, active.column);
    else if (event.key === " ") toggle([active.row], undefined);
    else if (event.key === "Delete" && given.remove) {
      if (!selected.size) toggle([active.row], true);
      given.remove();
    } else if (event.key.toLowerCase() === "c" && (event.ctrlKey || event.metaKey)) copy();
    else return;
    event.preventDefault();
  };
  const copy = () => {
    const chosen = selected.size ? [...selected.values()] : [rows.at(active.row)].filter(Boolean);
    navigator.clipboard.writeText(toTsv(columns, chosen)).catch(() => undefined);
  };
  const click = (/** @type {MouseEvent} */ event) => {
    const target = /** @type {Element} */ (event.target);
    const found = pool.current?.find(target);
    if (!found?.slot.row || target.closest("a[href]")) return;
    const { index, row } = found.slot;
    if (target instanceof HTMLInputElement || found.column < 0) {
      event.preventDefault();
      toggle(event.shiftKey ? range(anchor.current, index) : [index], event.shiftKey ? true : undefined);
      anchor.current = index;
      setActive({ row: index, column: active.column });
    } else {
      anchor.current = index;
      setActive({ row: index, column: found.column });
      if (found.column === 0 || NARROW.matches || opened) given.open(row);
    }
  };
  const doubleClick = (/** @type {MouseEvent} */ event) => {
    const found = pool.current?.find(/** @type {Element} */ (event.target));
    if (found && found.column >= 0) begin(found.slot.index, found.column);
  };
  const end = (/** @type {string | null} */ text, /** @type {number} */ step) => {
    const at = editing;
    edit(null);
    root.current?.focus();
    if (!at) return;
    const row = rows.at(at.row);
    const column = columns[at.column];
    if (text !== null && row && column) store(row, column, text);
    if (step) {
      const next = goTo(at.row, at.column + step);
      const column = columns[next.column];
      if (column && isEditable(column)) edit(next);
    }
  };

  return html`<div class="grid" role="grid" ref=${root} tabindex="0" aria-label=${label} aria-rowcount=${rows.next ? -1 : rows.known + 1}
      aria-colcount=${columns.length + 1} aria-multiselectable="true" onScroll=${() => draw(false)} onKeyDown=${press} onClick=${click} onDblClick=${doubleClick}>
    <${Head} ...${given} />
    <div class="grid-body" role="rowgroup" />
    ${editing && html`<${CellEditor} key=${`${editing.row} ${editing.column}`} row=${rows.at(editing.row)} column=${columns[editing.column]}
      place=${() => pool.current?.idOf(editing.row, editing.column) ?? ""} top=${(editing.row + 1) * height} end=${end} />`}
  </div>`;
}

/** @param {number} from @param {number} to @returns {number[]} */
const range = (from, to) => Array.from({ length: Math.abs(to - from) + 1 }, (_, at) => Math.min(from, to) + at);

/** Scrolls so that a cell is in sight. @param {HTMLElement | null} box @param {{ row: number, column: number }} cell
 * @param {number} height @param {Pool | null} pool */
function show(box, cell, height, pool) {
  if (!box) return;
  const top = cell.row * height;
  const room = box.clientHeight - height;
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top + height > box.scrollTop + room) box.scrollTop = top + height - room;
  const at = document.getElementById(pool?.idOf(cell.row, cell.column) ?? "");
  const frozen = box.querySelector(".grid-head .is-frozen");
  if (!at || !frozen || cell.column === 0) return;
  const left = frozen.getBoundingClientRect().right - at.getBoundingClientRect().left;
  const right = at.getBoundingClientRect().right - box.getBoundingClientRect().right;
  if (left > 0) box.scrollLeft -= left;
  else if (right > 0) box.scrollLeft += right;
}

/** @param {Given} given */
function Head({ columns, rows, selected, select, sort, order }) {
  const loaded = rows.pages.flatMap(({ items }) => items ?? []);
  const isAll = loaded.length > 0 && loaded.every((row) => selected.has(row.id));
  const all = () => select(isAll ? new Map() : new Map(loaded.map((row) => [row.id, row])));
  return html`<div class="grid-row grid-head" role="row" aria-rowindex="1">
    <div class="grid-cell is-check" role="columnheader" aria-colindex="1"><input class="check" type="checkbox" tabindex="-1" aria-label="Select all that are loaded"
      checked=${isAll} onClick=${all} /></div>
    ${columns.map((column, at) => {
      const isUp = sort === column.path;
      const isDown = sort === `-${column.path}`;
      return html`<div key=${column.path} role="columnheader" aria-colindex=${at + 2} aria-sort=${isUp ? "ascending" : isDown ? "descending" : null}
        class=${`grid-cell ${at === 0 ? "is-frozen" : ""} ${column.kind === "integer" || column.kind === "number" ? "number" : ""}`}>
        <button class="grid-sort" tabindex="-1" onClick=${() => order(column.path)}><${Icon} name=${iconOf(column.kind)} /><span dir="auto">${column.title}</span>
          ${(isUp || isDown) && html`<${Icon} name=${isUp ? "chevron-up" : "chevron-down"} small />`}</button></div>`;
    })}
  </div>`;
}
