/** Runs the conformance table with this package, in Node, Deno, Bun, and in a page. `elsewhere` makes the calls of servers
 * where this place may not hold a secret key. */
import * as library from "@auth-collections/client";
import { admin } from "@auth-collections/client/admin";
import { realtime } from "@auth-collections/client/realtime";
import { makeVerifier } from "@auth-collections/client/verify";

const { ConfigurationError, createClient, memory, raw, ServiceError } = library;
const QUERIES = ["list", "each", "first", "count", "aggregate", "changes"];
const CHANGES = ["update", "update_many", "delete_many"];
const OPTIONS = ["timeout", "retries", "idempotent", "if_match", "dry_run"];
const FORMS = {
  $id: (value) => /^[0-9a-f]{24}$/.test(value),
  $time: (value) => /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value),
  $text: (value) => typeof value === "string",
  $number: (value) => typeof value === "number",
  $any: (value) => value !== undefined && value !== null,
  $absent: (value) => value === undefined,
};
/** Questions to the harness: the path, the parameter, and the part of the answer. */
const ASKED = { $code: ["mail", "to", "code"], $link: ["mail", "to", "token"], $totp: ["totp", "secret", "code"], $id_token: ["id_token", "nonce", "token"], $visit: ["visit", "url", "url"] };
const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const split = (object = {}, names) => [
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name))),
  Object.fromEntries(Object.entries(object).filter(([name]) => names.includes(name))),
];
const isObject = (value) => typeof value === "object" && value !== null;

export function makeRunner(config, elsewhere = null) {
  const saved = new Map(), clients = new Map(), events = new Map();

  const control = async (path, body) =>
    (await fetch(`${config.control}/${path}`, body && { method: "POST", body: JSON.stringify(body) })).json();

  function clientOf(as) {
    if (clients.has(as)) return clients.get(as);
    const key = as === "server" ? config.secret_key : as === "wrong key" ? `${config.publishable_key}x` : config.publishable_key;
    const client = createClient({ url: config.url, key, ...(as.startsWith("user") && { session: memory() }) });
    events.set(as, []);
    client.auth.onChange((event) => events.get(as).push(event));
    clients.set(as, client);
    return client;
  }

  /** Arguments with saved values and special values in their places. */
  async function resolve(value) {
    if (typeof value === "string" && value.startsWith("$") && saved.has(value.slice(1))) return saved.get(value.slice(1));
    if (Array.isArray(value)) return Promise.all(value.map(resolve));
    if (!isObject(value)) return value;
    const [[name, given] = [], ...others] = Object.entries(value), rest = Object.fromEntries(others);
    if (name === "$join") return (await resolve(given)).join("");
    if (name in ASKED) {
      const [path, parameter, taken] = ASKED[name], query = new URLSearchParams({ ...rest, [parameter]: await resolve(given) });
      return (await control(`${path}?${query}`))[rest.take ?? taken];
    }
    const pairs = Object.entries(value).map(async ([key, each]) => [key, await resolve(each)]);
    return Object.fromEntries(await Promise.all(pairs));
  }

  /** Values that JSON has no form for; they are made where the call is made. */
  function make(value) {
    if (Array.isArray(value)) return value.map(make);
    if (!isObject(value)) return value;
    const [[name, given] = []] = Object.entries(value);
    if (name === "$date") return new Date(given);
    if (name === "$raw") return raw(given);
    if (name === "$file") return new File([Uint8Array.from(atob(given.base64), (each) => each.charCodeAt(0))], given.name);
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, make(each)]));
  }

  function argumentsOf(method, args = [], given = {}) {
    const [first, options] = split(given, OPTIONS);
    if (options.timeout) options.timeout *= 1000;
    if (QUERIES.includes(method)) return [first, options];
    if (CHANGES.includes(method)) return [...args, first, options];
    if (method === "signup") return [first, options];
    if (method === "run_aggregation") return [...args, first, options];
    if ("additional" in given) return [{ schema: args[0], ...first }, options];
    return Object.keys(given).length ? [...args, { ...first, ...options }] : args;
  }

  function findCall(client, name) {
    const [part, ...rest] = name.split(".");
    if (part === "client") return [client, rest[0]];
    if (rest[0]?.startsWith("login_id_token_")) return [client.auth.loginIdToken, rest[0].slice("login_id_token_".length)];
    if (part === "auth" || part === "users") return [client[part], rest[0]];
    if (part === "admin") return rest[1] ? [admin(client)[rest[0]], rest[1]] : [admin(client), rest[0]];
    return [client.collection(part), rest[0]];
  }

  async function invoke({ as, call, args = [], with: given = {} }) {
    const client = clientOf(as), [owner, method] = findCall(client, call);
    if (call === "client.batch") return client.batch((on) => record(on, args[0]), given);
    if (call.startsWith("verify.")) return makeVerifier({ url: config.url, project: config.project_id, issuer: config.issuer, ...given }).verify(...args);
    const result = owner[camel(method)](...argumentsOf(method, make(args), make(given)));
    if (method === "each") return Array.fromAsync ? Array.fromAsync(result) : collect(result);
    return method === "export_rows" ? new Response(await result).text() : result;
  }

  async function collect(items) {
    const all = [];
    for await (const each of items) all.push(each);
    return all;
  }

  function record(on, operations) {
    const placeholders = {};
    const fill = (value) => {
      if (Array.isArray(value)) return value.map(fill);
      if (!isObject(value)) return value;
      if ("$placeholder" in value) return placeholders[value.$placeholder];
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fill(each)]));
    };
    for (const { on: name, call, args = [], with: given, as } of operations) {
      const made = on(name)[call](...argumentsOf(call, fill(args), fill(given)));
      if (as) placeholders[as] = made;
    }
  }

  async function follow({ as, call, with: query = {}, steps }) {
    let documents = [], wake = () => {}, problem = null;
    const live = realtime(clientOf(as)).live(call.split(".")[1], query, {
      data: (shown) => { documents = shown; wake(); },
      state: (_state, why) => { if (why) problem = why; wake(); },
    });
    try {
      for (const step of steps) {
        if (step.call) await outcome(await resolve(step));
        while (!problem && matches(documents, await resolve(step.shows)) !== null) await new Promise((done) => (wake = done));
        if (problem) throw problem;
      }
    } finally {
      live.close();
    }
    return documents;
  }

  /** `{value}` or `{error}` of a call whose arguments are resolved. */
  async function perform(entry) {
    try {
      const value = await (entry.call.startsWith("live.") ? follow(entry) : invoke(entry));
      return { value: value === undefined ? null : JSON.parse(JSON.stringify(value)) };
    } catch (error) {
      return { error: described(error) };
    }
  }
  const outcome = (entry) => (elsewhere && entry.as === "server" ? elsewhere(entry) : perform(entry));

  function described(error) {
    if (error instanceof ConfigurationError) return { class: "ConfigurationError" };
    if (!(error instanceof ServiceError)) return { class: "bug", message: String(error?.stack ?? error) };
    const name = Object.entries({ ...library, TokenError: error.constructor }).find(([, type]) => type === error.constructor)[0];
    const { code, outcome: end, status, current, matched, changed, message } = error;
    return { class: name, code, outcome: end, status, current, matched, changed, message, errors: error.errors };
  }

  /** Null if the value is as the pattern wants it, else the place where it is not. */
  function matches(value, pattern, place = "") {
    if (typeof pattern === "string" && pattern in FORMS) return FORMS[pattern](value) ? null : place || "/";
    if (Array.isArray(pattern)) {
      if (!Array.isArray(value) || value.length !== pattern.length) return `${place}/length`;
      return pattern.reduce((found, each, at) => found ?? matches(value[at], each, `${place}/${at}`), null);
    }
    if (!isObject(pattern)) return value === pattern ? null : place || "/";
    if (!isObject(value)) return place || "/";
    return Object.entries(pattern).reduce((found, [key, each]) => found ?? matches(value[key], each, `${place}/${key}`), null);
  }

  function isMessage(errors, [path, message]) {
    const error = new library.ValidationError({ code: "", message: "", body: { detail: errors } });
    return error.at(...path) === message;
  }

  async function judge(entry, { value, error }) {
    if (entry.error) {
      const { at, ...wanted } = entry.error;
      return matches(error ?? null, wanted) ?? (at && !isMessage(error.errors, at) ? "/at" : null);
    }
    if (error) return "/";
    return "result" in entry ? matches(value, await resolve(entry.result)) : null;
  }

  async function surroundings(entry) {
    const as = entry.as;
    if (entry.events) await new Promise((done) => setTimeout(done));
    if (entry.events && JSON.stringify(events.get(as)) !== JSON.stringify(entry.events)) return `/events ${events.get(as)}`;
    if ("requests" in entry && (await control("requests")).requests !== entry.requests) return "/requests";
    if (!entry.count) return null;
    const { collection, where, is } = await resolve(entry.count);
    const { value } = await outcome({ as: "server", call: `${collection}.count`, with: { where } });
    return value === is ? null : `/count ${value}`;
  }

  async function runEntry(entry) {
    const { result, error, save, events: wantedEvents, steps, ...asked } = entry;
    const resolved = { ...(await resolve(asked)), ...(steps && { steps }) };
    await control("begin", { faults: [entry.fault ?? []].flat() });
    clientOf(entry.as === "server" && elsewhere ? "guest" : entry.as);
    events.get(entry.as)?.splice(0);
    const got = await outcome(resolved);
    for (const [name, path] of Object.entries(save ?? {}))
      saved.set(name, path.split(".").filter(Boolean).reduce((value, key) => value?.[key], got.value));
    const wrong = (await judge(entry, got)) ?? (await surroundings(entry));
    return wrong === null ? { name: entry.name, ok: true } : { name: entry.name, ok: false, wrong, got };
  }

  return { runEntry, perform, close: () => clients.forEach((client) => client.close()) };
}
