/** Live lists over one socket of a client: it comes back by itself, goes on where it was, and says how far it is. */
import { flatten } from "./bodies.js";
import { coreOf } from "./client.js";
import { ConfigurationError } from "./errors.js";
import { loadOnce } from "./loading.js";
import { type Line, type LiveState, makeLine, type Socket } from "./lines.js";
import type { AnySchema, DataOf, Document } from "./schema.js";
import type { Client, User } from "./accounts.js";
import type { ServiceError } from "./errors.js";
import { type FrameChange, type Kept, makeWindow } from "./windows.js";

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
export type LiveName<S extends AnySchema> = (keyof S["collections"] & string) | "users";
export type LiveRecord<S extends AnySchema, C extends string> = C extends "users" ? User<S["users"]["data"]> : Document<DataOf<S, C>, C>;
export type LiveWhere<S extends AnySchema, C extends string> = C extends "users" ? S["users"]["where"] : S["collections"][C]["where"];
export interface Realtime<S extends AnySchema> {
  live<C extends LiveName<S>>(name: C, query: LiveQuery<LiveWhere<S, C>>, listener: LiveListener<LiveRecord<S, C>>): Live<LiveRecord<S, C>>;
  /** A snapshot, and each change after it; another snapshot where changes were missed. */
  changes<C extends LiveName<S>>(name: C, query?: LiveQuery<LiveWhere<S, C>>): AsyncGenerator<LiveItem<LiveRecord<S, C>>>;
}

const changes = loadOnce(() => import("./changes.js"));

/** The live lists of a client. All of them share one socket. `WebSocket` is needed where there is none, as in Node 20. */
export function realtime<S extends AnySchema>(client: Client<S>, options: { WebSocket?: Socket } = {}): Realtime<S> {
  const core = coreOf(client);
  const line = (): Line => {
    const Socket = options.WebSocket ?? (globalThis.WebSocket as Socket | undefined);
    if (!Socket) throw new ConfigurationError("Give a WebSocket: realtime(ac, {WebSocket})");
    return (core.line ??= makeLine(core, Socket));
  };
  return {
    live: (name, query, listener) => live(line(), name, query, listener as LiveListener<any>),
    async *changes(name, query = {}) {
      yield* (await changes()).changes(line(), subscription(name, query));
    },
  };
}

const subscription = (collection: string, { where, ...query }: LiveQuery<any>) => ({ collection, ...query, where: flatten(where) });

function live(line: Line, name: string, query: LiveQuery<any>, listener: LiveListener<any>): Live<any> {
  const shown = makeWindow<Kept>(query.limit ?? 50, query.sort_by, query.sort_order);
  const following = line.follow(subscription(name, query), {
    data(documents, changes, isComplete) {
      if (documents) shown.fill(documents, isComplete);
      else if (shown.apply(changes)) line.again(following);
      listener.data(shown.documents, changes);
    },
    state: (next, problem) => listener.state?.(next, problem),
  });
  return {
    get documents() {
      return shown.documents;
    },
    get state() {
      return following.state;
    },
    close: () => line.leave(following),
  };
}
