/** The rows of a query: the first page with the states of a page, all others by the grid. */
import { useEffect, useReducer, useRef } from "preact/hooks";
import { call } from "../app/api.js";
import { useLoading } from "../app/loading.js";
import { PAGE, Rows } from "./rows.js";

/** @param {string} path Of a row that takes a query as its body. @param {string} list The name of the records in its answer.
 * @param {Record<string, unknown>} query @param {unknown[]} causes What loads again when it changes, beside the query.
 * @returns {{ loading: import("../app/loading.js").Loading<Rows>, rows: Rows | undefined, turn: number, one: (id: string) => Promise<any> }} */
export function useRows(path, list, query, causes) {
  const [turn, changed] = useReducer((/** @type {number} */ count) => count + 1, 0);
  const held = useRef(/** @type {Rows | null} */ (null));
  const ask = async (/** @type {Record<string, unknown>} */ body, /** @type {AbortSignal} */ signal) =>
    call(path, { method: "POST", body: { ...query, ...body }, isRead: true, signal });
  const page = async (/** @type {string} */ cursor, /** @type {AbortSignal} */ signal) => {
    const body = await ask({ limit: PAGE, cursor }, signal);
    return { items: body[list], next: body.next };
  };
  const loading = useLoading(async (signal) => {
    const first = await page("*", signal);
    if (held.current) held.current.isClosed = true;
    const aborter = new AbortController();
    held.current = new Rows(first, (cursor) => page(cursor, aborter.signal), () => changed(0));
    return held.current;
  }, [path, JSON.stringify(query), ...causes]);
  useEffect(() => () => {
    if (held.current) held.current.isClosed = true;
  }, []);
  const one = async (/** @type {string} */ id) => (await ask({ where: { id_eq: id }, limit: 1, count: "none" }, AbortSignal.timeout(30_000)))[list][0];
  return { loading, rows: loading.data, turn, one };
}
