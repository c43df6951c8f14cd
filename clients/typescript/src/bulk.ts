/** Changes of all documents that a condition finds. */
import { flatten, refuseFiles } from "./bodies.js";
import type { Ask } from "./client.js";
import { ServiceError } from "./errors.js";
import type { CallOptions } from "./transport.js";

export type BulkOptions = { dry_run?: boolean } & CallOptions;

/** Follows `next` until all is changed. An error says how much was changed before it. */
export async function changeAll(ask: Ask, path: string, { where, ...body }: Record<string, any>, { dry_run, ...options }: BulkOptions): Promise<any> {
  refuseFiles(body, "Files go with writes of one document");
  const json = { ...body, where: flatten(where) }, total = { matched: 0, changed: 0, next: null };
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor; isFirst = false) {
    try {
      const done = await ask("POST", path, { query: { dry_run, cursor }, json }, options);
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
