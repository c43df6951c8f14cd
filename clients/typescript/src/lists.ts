/** Lists of documents and of users: pages, single records, all of them, and counts. */
import { flatten } from "./bodies.js";
import type { CallOptions } from "./transport.js";
import type { Ask } from "./client.js";

export interface Asked {
  where?: object;
  fields?: readonly string[];
  populate?: readonly string[];
  sort_by?: string | readonly string[];
  limit?: number;
  offset?: number;
  cursor?: string;
  count?: string;
}

const PAGE = 200;

/** One name is a list of one. */
export const listed = (names: unknown): unknown => (typeof names === "string" ? [names] : names);

/** `path` answers a query, and `name` holds the records of its answer. */
export class Lists {
  constructor(protected readonly ask: Ask, private readonly path: string, private readonly name: "documents" | "users") {}

  async list({ where, sort_by, ...query }: Asked = {}, options?: CallOptions): Promise<any> {
    const json = { ...query, where: flatten(where), sort_by: listed(sort_by) };
    return this.ask("POST", this.path, { json, safety: "read" }, options);
  }

  async *each({ limit = Infinity, ...query }: Asked = {}, options?: CallOptions): AsyncGenerator<any> {
    for (let cursor: string | null = "*"; cursor && limit > 0; ) {
      const page: any = await this.list({ ...query, cursor, limit: Math.min(PAGE, limit) }, options);
      const records = page[this.name];
      limit -= records.length;
      yield* records;
      cursor = page.next;
    }
  }

  async first(query: Asked = {}, options?: CallOptions): Promise<any> {
    return (await this.list({ ...query, limit: 1, count: "none" }, options))[this.name][0] ?? null;
  }

  async count({ where, count = "exact" }: { where?: object; count?: string } = {}, options?: CallOptions): Promise<number> {
    return (await this.list({ ...(where && { where }), fields: ["id"], limit: 1, count }, options)).total;
  }
}
