/** The documents of a live collection as they change: a stream of events, and what the grid does with them. */
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../app/html.js";
import { useStream } from "../app/live.js";
import { number } from "../app/texts.js";
import { readFilter } from "./query.js";

const RELOAD_MS = 1_000;

/** @param {object} where @returns {string | null} The filter as a query string; null where it is more than a list of conditions. */
export function streamQuery(where) {
  const filter = readFilter(where);
  if (!filter || filter.any || filter.conditions.some(({ isNot, field }) => isNot || field.includes("."))) return null;
  const pairs = filter.conditions.map(({ field, operator, value }) => [`${field}_${operator}`, Array.isArray(value) ? value.join(",") : String(value)]);
  return new URLSearchParams([...pairs, ["limit", "1"]]).toString();
}

/** A document that changes is shown as it is now. One that comes or goes has the first page loaded again; where more pages
 * are loaded, it is counted until the operator asks for them.
 * @param {{ path: string, where: object, isOn: boolean, rows: import("./rows.js").Rows | undefined, one: (id: string) => Promise<any>, reload: () => void }} given */
export function useLiveRows({ path, where, isOn, rows, one, reload }) {
  const query = streamQuery(where);
  const [moved, setMoved] = useState(0);
  const latest = useRef({ rows, reload });
  latest.current = { rows, reload };
  const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
  const show = () => {
    clearTimeout(timer.current);
    timer.current = undefined;
    setMoved(0);
    latest.current.reload();
  };
  const take = async (/** @type {any} */ { changes }) => {
    const known = new Set(latest.current.rows?.pages.flatMap(({ items }) => items ?? []).map(({ id }) => id));
    const changed = changes.filter((/** @type {any} */ each) => each.op !== "leave" && known.has(each.document.id)).map((/** @type {any} */ each) => each.document.id);
    const others = changes.length - changed.length;
    for (const stored of await Promise.all([...new Set(changed)].slice(0, 20).map(one))) if (stored) latest.current.rows?.put(stored);
    if (!others) return;
    setMoved((old) => old + others);
    if ((latest.current.rows?.pages.length ?? 0) <= 1) timer.current ??= setTimeout(show, RELOAD_MS);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  const isOpen = useStream(`${path}/documents?${query}`, "changes", isOn && query !== null, take);
  return { isOpen, moved, show, mayFollow: query !== null };
}

/** @param {{ live: ReturnType<typeof useLiveRows> }} given */
export function Moved({ live }) {
  if (!live.moved) return null;
  return html`<button class="button button-small" onClick=${live.show}>${number(live.moved)} came or went</button>`;
}
