/** Lists of documents and of users: pages, single records, all of them, and counts. */
import { flatten, part } from "./bodies.js";
import type { CallOptions } from "./transport.js";
import type { Ask } from "./client.js";
import { NotFoundError } from "./errors.js";

export interface Asked {
  where?: object | undefined;
  fields?: readonly string[] | undefined;
  populate?: readonly string[] | undefined;
  with_counts?: readonly string[] | undefined;
  sort_by?: string | readonly string[];
  limit?: number;
  offset?: number;
  cursor?: string;
  count?: string;
}

type Shown = Pick<Asked, "populate" | "fields" | "with_counts">;
/** Records of a page of `each`; a page with counts is smaller. */
const PAGE = 200, COUNTING = 100;

/** One name is a list of one. */
export const listed = (names: unknown): unknown => (typeof names === "string" ? [names] : names);

/** Records are below `base`; `name` holds the records of an answer to a query. */
export class Lists {
  constructor(
    protected readonly ask: Ask,
    protected readonly root: string,
    private readonly name: "documents" | "users",
    protected readonly base = root,
  ) {}

  async list({ where, sort_by, ...query }: Asked = {}, options?: CallOptions): Promise<any> {
    const json = { ...query, where: flatten(where), sort_by: listed(sort_by) };
    return this.ask("POST", `${this.root}/query`, { json, safety: "read" }, options);
  }

  async *each({ limit = Infinity, ...query }: Asked = {}, options?: CallOptions): AsyncGenerator<any> {
    for (let cursor: string | null = "*"; cursor && limit > 0; ) {
      const page: any = await this.list({ ...query, cursor, limit: Math.min(query.with_counts ? COUNTING : PAGE, limit) }, options);
      const records = page[this.name];
      limit -= records.length;
      yield* records;
      cursor = page.next;
    }
  }

  async first(query: Asked = {}, options?: CallOptions): Promise<any> {
    return (await this.list({ ...query, limit: 1, count: "none" }, options))[this.name][0] ?? null;
  }

  async get(id: string, { populate, fields, with_counts, ...options }: Shown & CallOptions = {}): Promise<any> {
    if (!(populate || fields || with_counts)) return this.ask("GET", this.at(id), {}, options);
    const found = await this.first({ where: { id_eq: String(id) }, populate, fields, with_counts }, options);
    if (found) return found;
    const noun = this.name.slice(0, -1);
    throw new NotFoundError({ status: 404, code: `${noun}_not_found`, message: `No such ${noun}` });
  }

  async count({ where, count = "exact" }: Pick<Asked, "where" | "count"> = {}, options?: CallOptions): Promise<number> {
    return (await this.list({ where, fields: ["id"], limit: 1, count }, options)).total;
  }

  protected at(id: string): string {
    return `${this.base}/${part(id)}`;
  }
}
