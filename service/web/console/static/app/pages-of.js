/** Lists by cursor: the first page, and the older ones below it. */
import { useState } from "preact/hooks";
import { call } from "./api.js";
import { useLoading } from "./loading.js";

/** @param {string} path @param {Record<string, string | number | null>} query @param {string} name Of the list in the answer. */
export function usePages(path, query, name) {
  const [older, setOlder] = useState(/** @type {{ of: any, rows: any[], next: string | null }} */ ({ of: null, rows: [], next: null }));
  const loading = useLoading((signal) => call(path, { query, signal }), [path, JSON.stringify(query)]);
  const first = loading.data;
  const kept = older.of === first ? older : { of: first, rows: [], next: first?.next ?? null };
  const more = async () => {
    const page = await call(path, { query: { ...query, cursor: kept.next } });
    setOlder({ of: first, rows: [...kept.rows, ...page[name]], next: page.next });
  };
  return { loading, rows: /** @type {any[]} */ ([...(first?.[name] ?? []), ...kept.rows]), next: kept.next, more };
}
