/** One collection: every call about its documents. */
import { type FileOptions, flatten, ifMatch, part, refuseFiles, write } from "./bodies.js";
import type { BulkOptions } from "./bulk.js";
import type { Ask } from "./client.js";
import { listed, Lists } from "./lists.js";
import { loadOnce } from "./loading.js";
import type { ImportOptions } from "./streams.js";
import type { CallOptions, Safety } from "./transport.js";

interface Condition extends FileOptions {
  if_match?: number | string;
}
type Body = Record<string, any>;
/** Changes that end alike when they are made twice. */
const REPEATABLE = ["data", "min", "max", "add", "pull", "unset"];
const bulk = loadOnce(() => import("./bulk.js"));
const streams = loadOnce(() => import("./streams.js"));

export class CollectionCalls extends Lists {
  constructor(ask: Ask, name: string) {
    const root = `/api/collections/${part(name)}`;
    super(ask, root, "documents", `${root}/documents`);
  }

  create(data: object, options: FileOptions = {}): Promise<any> {
    return this.put("POST", this.base, data, "key", options);
  }

  replace(id: string, data: object, { if_match, ...options }: Condition = {}): Promise<any> {
    return this.put("PUT", this.at(id), data, if_match === undefined ? "same" : "once", options, { headers: ifMatch(if_match) });
  }

  upsert(data: object, { by, on_conflict, ...options }: { by: string; on_conflict?: string } & FileOptions): Promise<any> {
    return this.put("PUT", this.base, data, "same", options, { query: { by, on_conflict } });
  }

  async update(id: string, { where, ...change }: Body, { if_match, ...options }: Condition = {}): Promise<any> {
    const names = Object.keys(change).filter((name) => change[name] !== undefined);
    const isRepeatable = !where && if_match === undefined && names.every((name) => REPEATABLE.includes(name));
    const isData = !where && names.every((name) => name === "data");
    if (!isData) refuseFiles(change, "Files go with create, replace, upsert, or an update of `data` alone");
    const wrap = (data: object) => ({ ...change, ...("data" in change && { data }), where: flatten(where) });
    const body = write(change["data"] ?? {}, wrap, options);
    const more = { safety: isRepeatable ? "same" : "key", headers: ifMatch(if_match) } as const;
    return this.ask("PATCH", this.at(id), { ...more, ...body }, options);
  }

  delete(id: string, { if_match, ...options }: Condition = {}): Promise<void> {
    return this.ask("DELETE", this.at(id), { safety: "same", headers: ifMatch(if_match) }, options);
  }

  async distinct(field: string, { where, ...options }: { where?: object } & CallOptions = {}): Promise<any> {
    return this.ask("GET", `${this.root}/distinct`, { query: { field, where: where && JSON.stringify(flatten(where)) } }, options);
  }

  async aggregate({ where, sort_by, ...body }: Body, options?: CallOptions): Promise<any> {
    return this.ask("POST", `${this.root}/aggregate`, { json: { ...body, where: flatten(where), sort_by: listed(sort_by) }, safety: "read" }, options);
  }

  async updateMany(body: Body, options: BulkOptions = {}): Promise<any> {
    return (await bulk()).changeAll(this.ask, `${this.root}/update`, body, options);
  }

  async deleteMany(body: Body, options: BulkOptions = {}): Promise<any> {
    return (await bulk()).changeAll(this.ask, `${this.root}/delete`, body, options);
  }

  async importRows(rows: unknown, options: ImportOptions = {}): Promise<any> {
    return (await streams()).imported(this.ask, `${this.root}/import`, rows, options);
  }

  async exportRows(options: { where?: object; format?: "ndjson" | "csv" } & CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return (await streams()).exported(this.ask, `${this.root}/export`, options);
  }

  private async put(method: string, path: string, data: object, safety: Safety, options: FileOptions, more: object = {}): Promise<any> {
    return this.ask(method, path, { safety, ...more, ...write(data, (data) => ({ data }), options) }, options);
  }
}
