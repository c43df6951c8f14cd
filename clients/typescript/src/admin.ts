/** Administration of a project, for servers with its secret key. Results are the service's own. */
import type { Client } from "./accounts.js";
import type { Time } from "./base.js";
import { ifMatch, part } from "./bodies.js";
import { coreOf } from "./client.js";
import type { AnySchema } from "./schema.js";
import type { Call, CallOptions } from "./transport.js";

type Json = Record<string, any>;
type Saving = { dry_run?: boolean; indexes?: boolean; if_match?: number | string } & CallOptions;
/** `events` are patterns with commas between them. */
export type ChangesQuery = { after?: string; events?: string; limit?: number; wait?: number };
export interface Change { id: string; type: string; timestamp: Time; project_id: string; cursor: string; data: Json }
export interface Changes { events: Change[]; next: string; caught_up: boolean; lag_ms: number }

export function admin<S extends AnySchema>(client: Client<S>) {
  const core = coreOf(client);
  const ask = (method: string, path: string, options?: CallOptions, more?: Partial<Call>): Promise<any> =>
    core.ask(method, path, { ...((method === "PUT" || method === "DELETE") && { safety: "same" }), ...more }, options);
  const save = (method: string, path: string, json: Json, { dry_run, indexes, if_match, ...options }: Saving = {}) =>
    ask(method, path, options, { json, query: { dry_run, indexes }, headers: ifMatch(if_match), ...(if_match !== undefined && { safety: "once" }) });
  const collection = (name: string) => `/api/collections/${part(name)}`;
  const saved = (name: string) => `/api/aggregations/${part(name)}`;
  const user = (id: string) => `/auth-collections/users/${part(id)}`;
  return {
    collections: {
      list: (options?: CallOptions) => ask("GET", "/api/collections", options),
      get: (name: string, options?: CallOptions) => ask("GET", collection(name), options),
      create: (json: { name: string; schema: Json; realtime?: boolean; unique?: string[][]; indexes?: string[][] }, options?: CallOptions) => ask("POST", "/api/collections", options, { json }),
      change: (name: string, json: Json, options?: Omit<Saving, "indexes">) => save("PATCH", collection(name), json, options),
      drop: (name: string, options?: CallOptions): Promise<null> => ask("DELETE", collection(name), options),
    },
    rules: {
      get: (options?: CallOptions) => ask("GET", "/api/rules", options),
      put: (rules: Json, options?: Saving) => save("PUT", "/api/rules", rules, options),
      explain: (question: Json, options?: CallOptions) => ask("POST", "/api/rules/explain", options, { json: question, safety: "read" }),
    },
    aggregations: {
      list: (options?: CallOptions) => ask("GET", "/api/aggregations", options),
      save: (name: string, definition: Json, options?: CallOptions) => ask("PUT", saved(name), options, { json: definition }),
      delete: (name: string, options?: CallOptions): Promise<null> => ask("DELETE", saved(name), options),
    },
    /** The schema of users' profiles. */
    profile: {
      get: (options?: CallOptions) => ask("GET", "/auth-collections/schema", options),
      put: (profile: { schema: Json; additional?: boolean }, options?: Omit<Saving, "indexes">) => save("PUT", "/auth-collections/schema", profile, options),
    },
    users: {
      create: (json: { email: string } & Json, options?: CallOptions) => ask("POST", "/auth-collections/users", options, { json }),
      change: (id: string, json: Json, options?: CallOptions) => ask("PATCH", user(id), options, { json, safety: "same" }),
      delete: (id: string, options?: CallOptions): Promise<null> => ask("DELETE", user(id), options),
      setPassword: (id: string, password: string, options?: CallOptions): Promise<null> =>
        ask("PUT", `${user(id)}/password`, options, { json: { password } }),
      sessions: (id: string, options?: CallOptions) => ask("GET", `${user(id)}/sessions`, options),
      endSessions: (id: string, options?: CallOptions): Promise<null> => ask("DELETE", `${user(id)}/sessions`, options),
      removeFactors: (id: string, options?: CallOptions): Promise<null> => ask("DELETE", `${user(id)}/factors`, options),
      makeLink: (id: string, json: { purpose: string; redirect_to?: string }, options?: CallOptions) => ask("POST", `${user(id)}/links`, options, { json }),
    },
    events: (query?: Json, options?: CallOptions) => ask("GET", "/auth-collections/events", options, { query }),
    /** A page of what was written. `next` is `after` of the next call; `wait` is the seconds to wait for a first event. */
    changes: (query?: ChangesQuery, options?: CallOptions): Promise<Changes> => ask("GET", "/api/changes", options, { query }),
    mails: {
      list: (query?: { limit?: number; offset?: number }, options?: CallOptions) => ask("GET", "/auth-collections/mails", options, { query }),
      retry: (id: string, options?: CallOptions): Promise<null> => ask("POST", `/auth-collections/mails/${part(id)}/retry`, options),
    },
  };
}
