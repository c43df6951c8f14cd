/** One collection: every call about its documents. */
import { type FileOptions, flatten, ifMatch, part, refuseFiles, write } from "./bodies.js";
import type { Ask } from "./client.js";
import { NotFoundError, ServiceError } from "./errors.js";
import { type Asked, listed, Lists } from "./lists.js";
import { loadOnce } from "./loading.js";
import type { ImportOptions } from "./streams.js";
import type { CallOptions, Safety } from "./transport.js";

interface Condition extends FileOptions {
  if_match?: number | string;
}
type Body = Record<string, any>;
/** Changes that end alike when they are made twice. */
const REPEATABLE = ["data", "min", "max", "add", "pull", "unset"];
const streams = loadOnce(() => import("./streams.js"));
const FILES = "Files go with create, replace, upsert, or an update of `data` alone";

export class CollectionCalls extends Lists {
  private readonly base: string;

  constructor(ask: Ask, name: string) {
    const base = `/api/collections/${part(name)}`;
    super(ask, `${base}/query`, "documents");
    this.base = base;
  }

  async get(id: string, { populate, fields, ...options }: Pick<Asked, "populate" | "fields"> & CallOptions = {}): Promise<any> {
    if (!populate && !fields) return this.ask("GET", this.at(id), {}, options);
    const found = await this.first({ where: { id_eq: String(id) }, ...(populate && { populate }), ...(fields && { fields }) }, options);
    if (found) return found;
    throw new NotFoundError({ status: 404, code: "document_not_found", message: "Document not found" });
  }

  create(data: object, options: FileOptions = {}): Promise<any> {
    return this.put("POST", this.at(), data, "key", options);
  }

  replace(id: string, data: object, { if_match, ...options }: Condition = {}): Promise<any> {
    return this.put("PUT", this.at(id), data, if_match === undefined ? "same" : "once", options, { headers: ifMatch(if_match) });
  }

  upsert(data: object, { by, on_conflict, ...options }: { by: string; on_conflict?: string } & FileOptions): Promise<any> {
    return this.put("PUT", this.at(), data, "same", options, { query: { by, on_conflict } });
  }

  async update(id: string, { where, ...change }: Body, { if_match, ...options }: Condition = {}): Promise<any> {
    const names = Object.keys(change).filter((name) => change[name] !== undefined);
    const isRepeatable = !where && if_match === undefined && names.every((name) => REPEATABLE.includes(name));
    const isData = !where && names.every((name) => name === "data");
    if (!isData) refuseFiles(change, FILES);
    const wrap = (data: object) => ({ ...change, ...("data" in change && { data }), where: flatten(where) });
    const body = write(change["data"] ?? {}, wrap, options);
    const more = { safety: isRepeatable ? "same" : "key", headers: ifMatch(if_match) } as const;
    return this.ask("PATCH", this.at(id), { ...more, ...body }, options);
  }

  delete(id: string, { if_match, ...options }: Condition = {}): Promise<void> {
    return this.ask("DELETE", this.at(id), { safety: "same", headers: ifMatch(if_match) }, options);
  }

  async distinct(field: string, { where, ...options }: { where?: object } & CallOptions = {}): Promise<any> {
    return this.ask("GET", `${this.base}/distinct`, { query: { field, where: where && JSON.stringify(flatten(where)) } }, options);
  }

  async aggregate({ where, sort_by, ...body }: Body, options?: CallOptions): Promise<any> {
    return this.ask("POST", `${this.base}/aggregate`, { json: { ...body, where: flatten(where), sort_by: listed(sort_by) }, safety: "read" }, options);
  }

  updateMany(body: Body, options: { dry_run?: boolean } & CallOptions = {}): Promise<any> {
    return this.many("update", body, options);
  }

  deleteMany(body: Body, options: { dry_run?: boolean } & CallOptions = {}): Promise<any> {
    return this.many("delete", body, options);
  }

  async importRows(rows: unknown, options: ImportOptions = {}): Promise<any> {
    return (await streams()).imported(this.ask, `${this.base}/import`, rows, options);
  }

  async exportRows(options: { where?: object; format?: "ndjson" | "csv" } & CallOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return (await streams()).exported(this.ask, `${this.base}/export`, options);
  }

  private at(id?: string): string {
    return `${this.base}/documents${id === undefined ? "" : `/${part(id)}`}`;
  }

  private async put(method: string, path: string, data: object, safety: Safety, options: FileOptions, more: object = {}): Promise<any> {
    return this.ask(method, path, { safety, ...more, ...write(data, (data) => ({ data }), options) }, options);
  }

  /** Follows `next` until all is changed. An error says how much was changed before it. */
  private async many(verb: string, { where, ...body }: Body, { dry_run, ...options }: { dry_run?: boolean } & CallOptions): Promise<any> {
    refuseFiles(body, FILES);
    const json = { ...body, where: flatten(where) }, total = { matched: 0, changed: 0, next: null };
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
      try {
        const done = await this.ask("POST", `${this.base}/${verb}`, { query: { dry_run, cursor }, json }, options);
        if (dry_run) return done;
        if (isFirst) total.matched = done.matched;
        total.changed += done.changed;
        cursor = done.next ?? undefined;
      } catch (error) {
        if (error instanceof ServiceError) error.changed = total.changed;
        throw error;
      }
    }
    return total;
  }
}
