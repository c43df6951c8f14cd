/** The client: one project of one service, by one key, for at most one user. */
import { Auth } from "./auth.js";
import type { Batch } from "./batches.js";
import { part } from "./bodies.js";
import { CollectionCalls } from "./collections.js";
import { ConfigurationError } from "./errors.js";
import { Lists } from "./lists.js";
import type { Line } from "./lines.js";
import { loadOnce } from "./loading.js";
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
/** As `Send`, for the body of the answer. */
export type Ask = (method: string, path: string, more?: Omit<Call, "method" | "path">, options?: CallOptions) => Promise<any>;
/** The parts that the other entries of this package build on. */
export interface Core {
  transport: Transport;
  sessions: Sessions;
  send: Send;
  ask: Ask;
  /** A sign-in: what is asked next is a result as well. `as: "user"` renews the session of the same user. */
  signIn(path: string, json: object, options?: CallOptions, as?: Call["as"]): Promise<any>;
  /** Runs when the client is closed. */
  closing: Set<() => void>;
  /** The socket of its live lists. */
  line?: Line;
}

const batches = loadOnce(() => import("./batches.js"));
const cores = new WeakMap<object, Core>();

export function coreOf(client: object): Core {
  const core = cores.get(client);
  if (!core) throw new ConfigurationError("createClient made no such client");
  return core;
}

export function createClient<S extends AnySchema = Untyped>(options: ClientOptions): Client<S> {
  const { token } = options, transport = makeTransport(options), place = `auth-collections ${transport.key} ${transport.url}`;
  const session = options.session ?? (typeof document !== "undefined" && !token ? webStorage(place) : undefined);
  return build(transport, new Sessions(transport, session, token)) as Client<S>;
}

class Users extends Lists {
  constructor(ask: Ask) {
    super(ask, "/auth-collections/users", "users");
  }

  setRoles(id: string, roles: readonly string[], options?: CallOptions): Promise<any> {
    return this.ask("PUT", `${this.at(id)}/roles`, { json: { roles }, safety: "same" }, options);
  }
}

function build(transport: Transport, sessions: Sessions): object {
  const send: Send = (call, options = {}) => transport.send(call, options, sessions);
  const ask: Ask = async (method, path, more, options) => (await send({ method, path, ...more }, options)).body;
  const closing = new Set<() => void>(), auth = new Auth(sessions, send, ask);
  const client = {
    auth,
    users: new Users(ask),
    collection: (name: string) => new CollectionCalls(ask, name),
    withToken: (token: string) => build(transport, new Sessions(transport, undefined, token)),

    request(method: string, path: string, { query, json, body, ...options }: Pick<Call, "query" | "json" | "body"> & CallOptions = {}) {
      return ask(method, path, { query, json, body, safety: /^(GET|HEAD|QUERY)$/.test(method) ? "read" : "once" }, options);
    },

    runAggregation: (name: string, query?: Record<string, unknown>, options?: CallOptions) =>
      ask("GET", `/api/aggregations/${part(name)}`, { query }, options),

    async batch(record: (on: Batch["on"]) => unknown, { atomic = true, ...options }: { atomic?: boolean } & CallOptions = {}) {
      const { Batch } = await batches(), batch = new Batch();
      await record(batch.on);
      return (await ask("POST", "/api/batch", { json: batch.body(atomic), safety: atomic ? "key" : "once" }, options)).results;
    },

    signUrls: async (urls: readonly string[], expires_in: number, options?: CallOptions) =>
      (await ask("POST", "/api/files/sign", { json: { urls, expires_in }, safety: "read" }, options)).urls,

    close() {
      for (const end of closing) end();
      sessions.close();
    },
  };
  cores.set(client, { transport, sessions, send, ask, signIn: auth.signIn, closing });
  return client;
}

/** The URL of an image's variant; a signed URL stays signed. */
export const variant = (url: string, name: string): string => `${url}${url.includes("?") ? "&" : "?"}variant=${part(name)}`;
