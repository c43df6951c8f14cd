/** Live lists over one socket of a client: it comes back by itself, goes on where it was, and says how far it is. */
import { flatten } from "./bodies.js";
import { coreOf } from "./client.js";
import { ConfigurationError } from "./errors.js";
import { Line, type LiveState, type Socket } from "./lines.js";
import type { AnySchema, DataOf, Document } from "./schema.js";
import type { Client, User } from "./accounts.js";
import type { ServiceError } from "./errors.js";
import { type FrameChange, type Kept, Window } from "./windows.js";

export type { LiveState } from "./lines.js";
export interface LiveQuery<W> {
  where?: W;
  sort_by?: string;
  sort_order?: "asc" | "desc";
  /** 50 records, unless another number is asked for. */
  limit?: number;
}
export type LiveChange<D> = FrameChange<D>;
export interface LiveListener<D> {
  /** All records that are shown now, and the changes that led here; none after a snapshot. */
  data(documents: readonly D[], changes: readonly LiveChange<D>[]): void;
  /** `problem` is there where the list is closed for good. */
  state?(state: LiveState, problem?: ServiceError): void;
}
export interface Live<D> {
  readonly documents: readonly D[];
  readonly state: LiveState;
  close(): void;
}
export type LiveItem<D> = LiveChange<D> | { op: "snapshot"; documents: D[] };
type Names<S extends AnySchema> = (keyof S["collections"] & string) | "users";
type RecordOf<S extends AnySchema, C extends string> = C extends "users" ? User<S["users"]["data"]> : Document<DataOf<S, C>, C>;
type WhereOf<S extends AnySchema, C extends string> = C extends "users" ? S["users"]["where"] : S["collections"][C]["where"];
export interface Realtime<S extends AnySchema> {
  live<C extends Names<S>>(name: C, query: LiveQuery<WhereOf<S, C>>, listener: LiveListener<RecordOf<S, C>>): Live<RecordOf<S, C>>;
  /** A snapshot, and each change after it; another snapshot where changes were missed. */
  changes<C extends Names<S>>(name: C, query?: LiveQuery<WhereOf<S, C>>): AsyncGenerator<LiveItem<RecordOf<S, C>>>;
}

const LIMIT = 50;
/** Changes that wait for a slow reader; past them the list begins again with a snapshot. */
const WAITING = 1_000;
const lines = new WeakMap<object, Line>();

/** The live lists of a client. All of them share one socket. `WebSocket` is needed where there is none, as in Node 20. */
export function realtime<S extends AnySchema>(client: Client<S>, options: { WebSocket?: Socket } = {}): Realtime<S> {
  const line = () => {
    const found = lines.get(client), Socket = options.WebSocket ?? (globalThis.WebSocket as Socket | undefined);
    if (found) return found;
    if (!Socket) throw new ConfigurationError("There is no WebSocket here: give one, realtime(ac, {WebSocket})");
    const made = new Line(coreOf(client), Socket);
    lines.set(client, made);
    return made;
  };
  return { live: (name, query, listener) => live(line(), name, query, listener as LiveListener<any>), changes: (name, query) => changes(line(), name, query) };
}

const subscription = (collection: string, { where, ...query }: LiveQuery<any>) => ({ collection, ...query, ...(where && { where: flatten(where) }) });

function live(line: Line, name: string, query: LiveQuery<any>, listener: LiveListener<any>): Live<any> {
  const shown = new Window<Kept>(query.limit ?? LIMIT, query.sort_by, query.sort_order);
  let state: LiveState = "connecting";
  const follower = line.follow(subscription(name, query), {
    snapshot(documents, isComplete) {
      shown.fill(documents, isComplete);
      listener.data(shown.documents, []);
    },
    changes(changes) {
      if (shown.apply(changes)) line.again(follower);
      listener.data(shown.documents, changes);
    },
    state(next, problem) {
      state = next;
      listener.state?.(next, problem);
    },
  });
  return {
    get documents() {
      return shown.documents;
    },
    get state() {
      return state;
    },
    close: () => line.leave(follower),
  };
}

async function* changes(line: Line, name: string, query: LiveQuery<any> = {}): AsyncGenerator<any> {
  let items: any[] = [], wake = () => {}, ended: { problem: ServiceError | undefined } | null = null;
  const follower = line.follow(subscription(name, query), {
    snapshot(documents) {
      items = [{ op: "snapshot", documents }];
      wake();
    },
    changes(changes) {
      items.push(...changes);
      if (items.length > WAITING) line.again(follower);
      wake();
    },
    state(state, problem) {
      if (state === "closed") ended = { problem };
      wake();
    },
  });
  const end = (): { problem: ServiceError | undefined } | null => ended;
  try {
    for (;;) {
      if (items.length) yield items.shift();
      else if (!end()) await new Promise<void>((resolve) => (wake = resolve));
      else if (end()!.problem) throw end()!.problem;
      else return;
    }
  } finally {
    line.leave(follower);
  }
}
