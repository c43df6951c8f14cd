/** The client: one project of one service, by one key, for at most one user. */
import { Auth } from "./auth.js";
import { Batch } from "./batches.js";
import { part } from "./bodies.js";
import { CollectionCalls } from "./collections.js";
import { ConfigurationError } from "./errors.js";
import { Lists } from "./lists.js";
import type { Client } from "./accounts.js";
import type { AnySchema, Untyped } from "./schema.js";
import { Sessions } from "./sessions.js";
import { type SessionStore, webStorage } from "./stores.js";
import { type Answer, type Call, type CallOptions, makeTransport, type Transport, type TransportOptions } from "./transport.js";

export interface ClientOptions extends TransportOptions {
  /** The place of the session: `webStorage` in a page, and none elsewhere. */
  session?: SessionStore;
  /** A user's token, in place of a session. */
  token?: string;
}
export type Send = (call: Call, options?: CallOptions) => Promise<Answer>;
/** The parts that the other entries of this package build on. */
export interface Core {
  transport: Transport;
  sessions: Sessions;
  send: Send;
  /** Runs when the client is closed. */
  closing: Set<() => void>;
}

const cores = new WeakMap<object, Core>();

export function coreOf(client: object): Core {
  const core = cores.get(client);
  if (!core) throw new ConfigurationError("This is no client that createClient made");
  return core;
}

export function createClient<S extends AnySchema = Untyped>(options: ClientOptions): Client<S> {
  const { url, key, token } = options, place = `auth-collections ${key} ${url.replace(/\/+$/, "")}`;
  const session = options.session ?? (typeof document !== "undefined" && !token ? webStorage(place) : undefined);
  const transport = makeTransport(options);
  return build(transport, new Sessions(transport, session, token)) as Client<S>;
}

class Users extends Lists {
  constructor(private readonly call: Send) {
    super(call, "/auth-collections/users/query", "users");
  }

  async get(id: string, options?: CallOptions): Promise<any> {
    return (await this.call({ method: "GET", path: `/auth-collections/users/${part(id)}` }, options)).body;
  }

  async setRoles(id: string, roles: readonly string[], options?: CallOptions): Promise<any> {
    const call = { method: "PUT", path: `/auth-collections/users/${part(id)}/roles`, json: { roles }, safety: "same" } as const;
    return (await this.call(call, options)).body;
  }
}

function build(transport: Transport, sessions: Sessions): object {
  const send: Send = (call, options = {}) => transport.send(call, options, sessions);
  const closing = new Set<() => void>();
  const client = {
    auth: new Auth(sessions, send),
    users: new Users(send),
    collection: (name: string) => new CollectionCalls(send, name),
    withToken: (token: string) => build(transport, new Sessions(transport, undefined, token)),

    async request(method: string, path: string, { query, json, body, ...options }: Pick<Call, "query" | "json" | "body"> & CallOptions = {}) {
      const safety = ["GET", "HEAD", "QUERY"].includes(method) ? "read" : "once";
      return (await send({ method, path, query, json, body, safety }, options)).body;
    },

    async runAggregation(name: string, query?: Record<string, unknown>, options?: CallOptions) {
      return (await send({ method: "GET", path: `/api/aggregations/${part(name)}`, query }, options)).body;
    },

    async batch(record: (on: Batch["on"]) => unknown, { atomic = true, ...options }: { atomic?: boolean } & CallOptions = {}) {
      const batch = new Batch();
      await record(batch.on);
      const call = { method: "POST", path: "/api/batch", json: batch.body(atomic), safety: atomic ? "key" : "once" } as const;
      return (await send(call, options)).body.results;
    },

    async signUrls(urls: readonly string[], expires_in: number, options?: CallOptions) {
      const call = { method: "POST", path: "/api/files/sign", json: { urls, expires_in }, safety: "read" } as const;
      return (await send(call, options)).body.urls;
    },

    close() {
      for (const end of closing) end();
      sessions.close();
    },
  };
  cores.set(client, { transport, sessions, send, closing });
  return client;
}

/** The URL of an image's variant; a signed URL stays signed. */
export const variant = (url: string, name: string): string => `${url}${url.includes("?") ? "&" : "?"}variant=${part(name)}`;
