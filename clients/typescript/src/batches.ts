/** Several writes in one request: `on(name)` records them, and nothing is sent before all are recorded. */
import { flatten, refuseFiles } from "./bodies.js";
import { Placeholder, writing } from "./placeholders.js";

type Body = Record<string, any>;

export class Batch {
  readonly operations: object[] = [];

  /** The calls of one collection, each recorded. `create` gives a stand-in for the id of its document. */
  readonly on = (collection: string) => {
    const add = (op: string, body: object) => {
      refuseFiles(body, "A batch sends no files");
      this.operations.push({ op, collection, ...body });
    };
    return {
      create: (data: object): Placeholder => {
        const as = `o${this.operations.length}`;
        add("create", { as, data });
        return new Placeholder(this, as);
      },
      update: (id: unknown, { where, ...change }: Body, { if_match }: Body = {}) => add("update", { id, ...change, where: flatten(where), if_match }),
      replace: (id: unknown, data: object, { if_match }: Body = {}) => add("replace", { id, data, if_match }),
      upsert: (data: object, { by, on_conflict }: Body) => add("upsert", { data, by, on_conflict }),
      delete: (id: unknown, { if_match }: Body = {}) => add("delete", { id, if_match }),
      get: (id: unknown) => add("get", { id }),
    };
  };

  /** The body of the request, as a value without placeholders. */
  body(atomic: boolean): object {
    return writing(this, () => JSON.parse(JSON.stringify({ atomic, operations: this.operations })));
  }
}
