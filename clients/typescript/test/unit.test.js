/** Rules of the client that need no service: a `fetch` of the test answers. */
import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import test from "node:test";
import { inspect } from "node:util";
import { ConfigurationError, createClient, memory, raw, RequestError, TransportError, variant, webStorage } from "@auth-collections/client";
import { admin } from "@auth-collections/client/admin";
import { cookieSession } from "@auth-collections/client/cookies";
import { realtime } from "@auth-collections/client/realtime";
import { makeVerifier } from "@auth-collections/client/verify";
import { flatten, write } from "../dist/bodies.js";
import { loadOnce } from "../dist/loading.js";
import { compareText, makeWindow } from "../dist/windows.js";

const URL_ = "https://api.example.com", KEY = "acp_demo_key";
const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
const tokenOf = (sub, more = {}) => {
  const iat = Math.floor(Date.now() / 1000);
  return `${encode({ alg: "ES256" })}.${encode({ sub, iat, exp: iat + 900, ...more })}.c2ln`;
};
const json = (body, status = 200, headers = {}) => Response.json(body, { status, headers });
const tokens = (sub, refresh = "r1", more = {}) => ({ access_token: tokenOf(sub, more), refresh_token: refresh, expires_in: 900, token_type: "bearer" });

/** A client whose requests `answer` answers, and the list of them. */
function made(answer, options = {}) {
  const requests = [];
  const fetch = async (url, init) => {
    requests.push({ url: String(url), ...init });
    return answer(requests.at(-1), requests.length);
  };
  return { requests, ac: createClient({ url: URL_, key: KEY, session: memory(), fetch, ...options }) };
}

test("nested conditions become dotted names, and raw ones stay", () => {
  const where = { title_eq: "x", author: { name_eq: "y", house: { city_eq: "z" } }, or: [{ a: { b_eq: 1 } }, { not: { c: { d_eq: 2 } } }], gone: undefined };
  const flat = { title_eq: "x", "author.name_eq": "y", "author.house.city_eq": "z", or: [{ "a.b_eq": 1 }, { not: { "c.d_eq": 2 } }] };
  assert.deepEqual(flatten(where), flat);
  assert.deepEqual(flatten(raw({ a: { b: 1 } })), { a: { b: 1 } });
  assert.equal(variant("/files/a?signature=s", "t"), "/files/a?signature=s&variant=t");
});

test("K1 a field __proto__ is sent as a field and changes no prototype", () => {
  const data = JSON.parse('{"__proto__": {"polluted": true}, "cover": 1}');
  data.cover = new File(["x"], "a.png");
  const { body } = write(data, (each) => each);
  assert.equal(body.get("data"), '{"__proto__":{"polluted":true}}');
  assert.equal({}.polluted, undefined);
  assert.equal(JSON.stringify(flatten(JSON.parse('{"__proto__": {"x_eq": 1}}'))), '{"__proto__.x_eq":1}');
});

test("a window is in the service's order and holds its limit", () => {
  const make = (id, rank) => ({ id, data: { rank } });
  assert.ok(compareText("\uffee", "\u{1f600}") < 0 && "\uffee" > "\u{1f600}");
  const shown = makeWindow(3, "rank");
  shown.fill([make("a", null), make("b", 1), make("c", "x")], false);
  assert.equal(shown.apply([{ op: "enter", document: make("d", true) }]), false);
  assert.deepEqual(shown.documents.map(({ id }) => id), ["a", "b", "c"]);
  assert.equal(shown.apply([{ op: "enter", document: make("e", 0) }]), false);
  assert.deepEqual(shown.documents.map(({ id }) => id), ["a", "e", "b"]);
  // The records behind the window are not known, so a record that leaves it asks for the list again.
  assert.equal(shown.apply([{ op: "change", document: make("e", 9) }]), true);
  assert.equal(shown.apply([{ op: "leave", document_id: "a" }]), true);
  const ties = makeWindow(5, "-rank");
  ties.fill([], true);
  ties.apply(["b", "a", "c"].map((id) => ({ op: "enter", document: make(id, 1) })));
  assert.deepEqual(ties.documents.map(({ id }) => id), ["c", "b", "a"]);
});

test("a part that could not be loaded is loaded by the next call, and once", async () => {
  let loads = 0;
  const part = loadOnce(async () => {
    if (++loads === 1) throw new TypeError("Failed to fetch dynamically imported module");
    return "part";
  });
  await assert.rejects(part(), (error) => error instanceof TransportError && error.code === "network" && error.outcome === "refused");
  assert.deepEqual(await Promise.all([part(), part()]), ["part", "part"]);
  assert.equal(loads, 2);
});

test("a client without an address or a key says which one is missing", () => {
  assert.throws(() => createClient({ url: undefined, key: KEY }), { name: "ConfigurationError", message: /^url is the address of the service/ });
  assert.throws(() => createClient({ url: URL_, key: undefined }), { name: "ConfigurationError", message: /^key: a page takes the publishable one/ });
});

test("a placeholder is good in its own batch only", async () => {
  const { ac, requests } = made(() => json({ results: [] }));
  let kept;
  await ac.batch((on) => void (kept = on("a").create({})));
  await assert.rejects(ac.batch((on) => on("b").create({ a_id: kept })), ConfigurationError);
  await assert.rejects(ac.collection("a").create({ a_id: kept }), ConfigurationError);
  await assert.rejects(ac.collection("a").get(kept), ConfigurationError);
  await assert.rejects(ac.batch(() => { throw new RangeError("stop"); }), RangeError);
  assert.equal(requests.length, 1);
});

test("an unknown code has the class of its status, and unknown fields are kept", async () => {
  const unknown = { 402: "RequestError", 403: "ForbiddenError", 404: "NotFoundError", 409: "ConflictError", 422: "ValidationError", 429: "RateLimitError", 503: "UnavailableError" };
  for (const [status, name] of Object.entries(unknown)) {
    const { ac } = made(() => json({ detail: "new", code: "of_a_later_version", more: 1 }, Number(status)), { retries: 0 });
    await assert.rejects(ac.request("GET", "/x"), { name, code: "of_a_later_version", status: Number(status) });
  }
  const { ac } = made(() => json({ next_feature: true, ...tokens("ann"), user: { id: "ann" } }));
  assert.deepEqual(await ac.auth.login("a", "b"), { next: null, next_feature: true, user: { id: "ann" } });
});

test("K7 a sign-out, or another sign-in, that comes during a refresh stays", async () => {
  for (const later of [null, tokens("ben", "b1")]) {
    let release;
    const held = new Promise((resolve) => (release = resolve));
    const { ac } = made(async ({ url }) => {
      if (!url.endsWith("/refresh")) return new Response(null, { status: 204 });
      await held;
      return json(tokens("ann", "r2"));
    });
    await ac.auth.setSession(tokens("ann"));
    const refreshing = ac.auth.refresh();
    await new Promise((resolve) => setTimeout(resolve));
    await (later ? ac.auth.setSession(later) : ac.auth.logout());
    release();
    await refreshing;
    assert.equal((await ac.auth.session())?.user_id, later ? "ben" : undefined);
  }
});

test("K7 a call that one user began is not sent again with another's token", async () => {
  const { ac, requests } = made(async (_request, count) => {
    if (count === 1) await ac.auth.setSession(tokens("ben", "b1"));
    return json({ detail: "no", code: "invalid_token" }, 401);
  });
  await ac.auth.setSession(tokens("ann"));
  await assert.rejects(ac.collection("notes").create({}), { code: "invalid_token" });
  assert.equal(requests.length, 1);
  assert.equal((await ac.auth.session()).user_id, "ben");
});

test("K6 a session that another tab has refreshed since it was read is not refreshed again", async () => {
  const store = memory(), { get } = store, old = { ...tokens("ann"), expires_at: Date.now() + 1_000, user_id: "ann" };
  let reads = 0;
  store.set(old);
  // Another tab stores the successor between the first look at the session and the next.
  store.get = () => (++reads === 2 ? (store.set({ ...tokens("ann", "r2", { n: 2 }), expires_at: Date.now() + 9e5, user_id: "ann" }), get()) : get());
  const { ac, requests } = made(() => json(tokens("ann", "r3")), { session: store });
  await ac.request("GET", "/x");
  assert.deepEqual(requests.map(({ url }) => url), [`${URL_}/x`]);
});

test("a session without a refresh token lives until its token is refused", async () => {
  const { ac, requests } = made(() => json({ detail: "no", code: "invalid_token" }, 401));
  await ac.auth.setSession({ access_token: tokenOf("ann") });
  assert.equal((await ac.auth.refresh()).user_id, "ann");
  assert.equal(requests.length, 0);
  await assert.rejects(ac.auth.user(), { code: "invalid_token" });
  assert.equal(await ac.auth.session(), null);
});

test("K8 a listener may call any method, and one that throws stops no other", async (context) => {
  const { ac } = made(() => json(tokens("ann", "r2"))), heard = [];
  const errors = context.mock.method(console, "error", () => {});
  ac.auth.onChange(() => { throw new Error("listener"); });
  ac.auth.onChange(async (event) => event === "signed_in" && heard.push((await ac.auth.refresh()) && "done"));
  const stop = ac.auth.onChange(() => heard.push("stopped"));
  stop();
  await ac.auth.setSession(tokens("ann"));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(heard.includes("done"), true);
  assert.equal(heard.includes("stopped"), false);
  assert.ok(errors.mock.callCount() >= 1);
  // A component that mounts twice listens twice, and the end of one leaves the other.
  const same = (event) => heard.push(event), stops = [ac.auth.onChange(same), ac.auth.onChange(same)];
  heard.length = 0;
  stops[0]();
  stops[0]();
  await ac.auth.logout().catch(() => {});
  assert.deepEqual(heard, ["signed_out"]);
});

test("K10 what may not be repeated is sent once, and its outcome is unknown", async () => {
  const lost = () => { throw new TypeError("the connection was reset"); }, server = { key: "ac_secret", session: undefined };
  const calls = [
    [server, (books) => books.replace("b", { title: "x" }, { if_match: 1 })],
    [server, (books) => books.create({ cover: new File(["x"], "a.png") })],
    [{}, (books) => books.create({ title: "x" })],
  ];
  for (const [options, call] of calls) {
    const { ac, requests } = made(lost, options);
    await assert.rejects(call(ac.collection("books")), (error) => error instanceof TransportError && error.code === "network" && error.outcome === "unknown");
    assert.equal(requests.length, 1);
  }
});

test("K11 a busy answer's retries are spread, and a long Retry-After is thrown at once", async (context) => {
  const waits = [];
  context.mock.method(globalThis, "setTimeout", ((original) => (work, ms, ...rest) => original(work, ms > 20_000 ? ms : (waits.push(ms), 0), ...rest))(setTimeout));
  const { ac } = made((_request, count) => (count % 2 ? json({ detail: "later", code: "rate_limit_exceeded" }, 429, { "retry-after": "2" }) : json({})));
  for (let each = 0; each < 40; each++) await ac.request("GET", "/x");
  assert.ok(waits.every((ms) => ms >= 2000 && ms < 3000));
  assert.ok(Math.max(...waits) - Math.min(...waits) > 500);
  const far = made(() => json({ detail: "later", code: "rate_limit_exceeded" }, 429, { "retry-after": "3600" }));
  await assert.rejects(far.ac.request("GET", "/x"), { retry_after: 3600 });
  assert.equal(far.requests.length, 1);
});

test("K13 clients of two users in one process send their own tokens", async () => {
  const { ac, requests } = made(() => json({}));
  const [ann, ben] = [ac.withToken(tokenOf("ann")), ac.withToken(tokenOf("ben"))];
  await Promise.all(Array.from({ length: 50 }, (_, at) => (at % 2 ? ann : ben).request("GET", `/${at % 2}`)));
  const sent = requests.map(({ url, headers }) => [url.at(-1), JSON.parse(Buffer.from(headers.authorization.split(".")[1], "base64url")).sub]);
  assert.ok(sent.every(([at, sub]) => sub === (at === "1" ? "ann" : "ben")));
  await assert.rejects(ann.auth.refresh(), ConfigurationError);
  await assert.rejects(ann.auth.login("a", "b"), ConfigurationError);
});

test("K13 a secret key is not sent beside a user's token", async () => {
  const { ac, requests } = made(() => json({}), { key: "ac_secret", session: undefined });
  await ac.withToken(tokenOf("ann")).request("GET", "/x");
  await ac.request("GET", "/x");
  assert.deepEqual(requests.map(({ headers }) => ["x-api-key" in headers, "authorization" in headers]), [[false, true], [true, false]]);
  const guest = made(() => json({}));
  await guest.ac.withToken(tokenOf("ann")).request("GET", "/x");
  assert.ok(guest.requests.every(({ headers }) => headers["x-api-key"] && headers.authorization));
});

test("K14 a session in a cookie keeps its answers out of shared caches", async () => {
  assert.throws(() => cookieSession({ get: () => null }), ConfigurationError);
  const headers = new Headers(), store = cookieSession({ get: () => null, headers });
  store.set({ access_token: tokenOf("ann"), refresh_token: "r", expires_at: 9e12, user_id: "ann" });
  const [cookie] = headers.getSetCookie();
  assert.match(cookie, /^__Host-ac=[\w-]+; Path=\/; Max-Age=\d+; HttpOnly; Secure; SameSite=Lax$/);
  assert.equal(headers.get("cache-control"), "private, no-store");
  const value = cookie.match(/=([\w-]+);/)[1];
  assert.equal(cookieSession({ get: () => value, headers }).get().user_id, "ann");
  assert.throws(() => store.set({ access_token: "x".repeat(4000), expires_at: 1, user_id: "a" }), ConfigurationError);
  const { ac, requests } = made(() => json({}), { session: cookieSession({ get: () => value, headers, readOnly: true }) });
  await assert.rejects(ac.auth.login("a", "b"), ConfigurationError);
  await ac.request("GET", "/x");
  assert.equal(requests.length, 1);
});

test("K15 a code that this client did not ask for is refused, and a planted token ignored", async () => {
  const { ac, requests } = made(() => json({ url: "https://provider.example", ...tokens("ann"), user: { id: "ann" } }));
  await assert.rejects(ac.auth.completeRedirect(`${URL_}/in?svc-code=stolen`), RequestError);
  await assert.rejects(ac.auth.completeRedirect(`${URL_}/in?svc-code=stolen&state=guess`), RequestError);
  await assert.rejects(ac.auth.completeRedirect(`${URL_}/in?svc-error=mfa_required`), { code: "mfa_required" });
  assert.equal(await ac.auth.completeRedirect(`${URL_}/in?svc-super-token=${tokenOf("eve")}`), null);
  assert.equal(await ac.auth.completeRedirect(`${URL_}/in`), null);
  assert.equal(requests.length, 0);
  await ac.auth.loginProvider("google", { stay: true });
  const state = new URL(requests[0].url).searchParams.get("client_state");
  await assert.rejects(ac.auth.completeRedirect(`${URL_}/in?svc-code=good&state=${state}x`), RequestError);
  assert.equal((await ac.auth.completeRedirect(`${URL_}/in?svc-code=good&state=${state}`)).next, null);
  await assert.rejects(ac.auth.completeRedirect(`${URL_}/in?svc-code=good&state=${state}`), RequestError);
  assert.equal(requests.length, 2);
});

test("K16 a path names no other host", async () => {
  const { ac, requests } = made(() => json({}));
  await assert.rejects(ac.request("GET", "@evil.example/x"), ConfigurationError);
  assert.equal(requests.length, 0);
  await ac.request("GET", "/x");
  assert.equal(requests[0].redirect, "manual");
});

test("K17 the start of a foreign error is read, and no more", async () => {
  let pulled = 0;
  const endless = () => new ReadableStream({ pull: (controller) => { pulled += 65_536; controller.enqueue(new Uint8Array(65_536).fill(32)); } });
  for (const type of ["text/html", "application/json"]) {
    const { ac } = made(() => new Response(endless(), { status: 500, headers: { "content-type": type } }));
    await assert.rejects(ac.request("POST", "/x"), { code: "bad_answer", status: 500, outcome: "unknown" });
  }
  assert.ok(pulled < 1_000_000, String(pulled));
});

test("K18 a clock that is off costs one refresh, and no loop", async () => {
  const { ac, requests } = made(({ url }) => json(url.endsWith("/refresh") ? tokens("ann", "r2", { iat: 1, exp: 901 }) : {}));
  await ac.auth.setSession({ ...tokens("ann", "r1", { iat: 1, exp: 901 }), expires_at: Date.now() - 86_400_000 });
  for (let each = 0; each < 5; each++) await ac.request("GET", "/x");
  assert.equal(requests.filter(({ url }) => url.endsWith("/refresh")).length, 1);
});

test("K19 a verifier takes good tokens of its project alone", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" }), jwk = publicKey.export({ format: "jwk" });
  const next = generateKeyPairSync("ec", { namedCurve: "P-256" });
  let reads = 0, keys = [{ ...jwk, kid: "k1" }];
  const fetch = async (url) => (url.includes("/jwks/") ? (reads++, json({ keys })) : json({ detail: "no", code: "invalid_token" }, 401));
  const verifier = makeVerifier({ url: URL_, project: "shop", fetch });
  const make = (claims = {}, head = {}, key = privateKey) => {
    const body = `${encode({ alg: "ES256", kid: "k1", ...head })}.${encode({ iss: URL_, aud: "shop", sub: "ann", exp: Date.now() / 1000 + 60, ...claims })}`;
    return `${body}.${sign("sha256", Buffer.from(body), { key, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
  };
  assert.equal((await verifier.verify(make())).sub, "ann");
  const refused = { algorithm: make({}, { alg: "none" }), issuer: make({ iss: "https://evil.example" }), audience: make({ aud: "other" }), expired: make({ exp: 1 }), signature: make({}, {}, next.privateKey), malformed: "a.b", unknown_key: make({}, { kid: "k0" }) };
  for (const [code, token] of Object.entries(refused)) await assert.rejects(verifier.verify(token), { code });
  await assert.rejects(verifier.verify(make({}, { alg: "HS256" })), { code: "algorithm" });
  const online = makeVerifier({ url: URL_, project: "shop", fetch, online: true });
  await assert.rejects(online.verify(make()), { code: "ended" });
  // A key that came since is read for; 10,000 tokens of keys that there are not have the keys read no more.
  reads = 0;
  const patient = makeVerifier({ url: URL_, project: "shop", fetch });
  await patient.verify(make());
  keys = [...keys, { ...next.publicKey.export({ format: "jwk" }), kid: "k2" }];
  assert.equal((await patient.verify(make({}, { kid: "k2" }, next.privateKey))).sub, "ann");
  await Promise.all(Array.from({ length: 10_000 }, (_, at) => assert.rejects(patient.verify(make({}, { kid: `x${at}` })), { code: "unknown_key" })));
  assert.equal(reads, 2);
});

test("K20 a token that is about to end is refreshed once, and its successor is sent over the same socket", async () => {
  const sent = [];
  let socket;
  class Socket {
    readyState = 1;
    constructor() { socket = this; setTimeout(() => this.onopen()); }
    send(message) { sent.push(JSON.parse(message)); }
    close() {}
  }
  const until = async (check) => { while (!check()) await new Promise((resolve) => setTimeout(resolve)); };
  const { ac, requests } = made(() => json(tokens("ann", "r2", { n: 2 })));
  await ac.auth.setSession(tokens("ann"));
  realtime(ac, { WebSocket: Socket }).live("books", {}, { data() {} });
  await until(() => sent.length === 2);
  socket.onmessage({ data: '{"type": "token_expiring"}' });
  await until(() => sent.length === 3);
  const { access_token } = await ac.auth.session();
  assert.deepEqual([sent[2], requests.length], [{ type: "token", token: access_token }, 1]);
  ac.close();
});

test("K21 an abort ends a wait and a request, and leaves nothing", async () => {
  const later = () => json({ detail: "later", code: "rate_limit_exceeded" }, 429, { "retry-after": "3000" });
  const { ac, requests } = made(later, { maxRetryWait: 1e9 }), wait = new AbortController();
  setTimeout(() => wait.abort(), 5);
  await assert.rejects(ac.request("GET", "/x", { signal: wait.signal }), { code: "aborted", outcome: "refused" });
  assert.equal(requests.length, 1);
  const hanging = made(({ signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))));
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 5);
  await assert.rejects(hanging.ac.collection("a").create({}, { signal: stop.signal }), { code: "aborted", outcome: "unknown" });
  await assert.rejects(hanging.ac.collection("a").create({}, { signal: AbortSignal.abort() }), { code: "aborted", outcome: "refused" });
  assert.equal(hanging.requests.length, 1);
});

test("K22 a storage that is full or forbidden leaves the session in memory, and forged text is none", () => {
  const failing = () => ({ getItem: () => null, removeItem() {}, setItem() { throw new Error("full"); } });
  for (const storage of [failing, () => { throw new Error("forbidden"); }]) {
    const store = webStorage("place", storage);
    store.set({ access_token: "t", expires_at: 1, user_id: "ann" });
    assert.equal(store.get().user_id, "ann");
    store.set(null);
    assert.equal(store.get(), null);
  }
  const steps = [], watched = { removeItem: () => steps.push("remove"), setItem: () => steps.push("set") };
  webStorage("place", () => watched).set({ access_token: "t", expires_at: 1, user_id: "ann" });
  assert.deepEqual(steps, ["set"]);
  for (const text of ["{", "3", '{"access_token": 1}', '{"access_token": "a", "user_id": "b"}'])
    assert.equal(webStorage("place", () => ({ getItem: () => text })).get(), null);
});

test("K23 neither the log nor a printed error has a secret", async () => {
  const secrets = [KEY, "s3cret-password", "s3cret-query", tokenOf("ann"), "s3cret-refresh"], logged = [];
  const { ac } = made(() => { throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED", url: `${URL_}/?q=s3cret-query` } }); }, { log: (entry) => logged.push(entry), retries: 1 });
  await ac.auth.setSession({ access_token: secrets[3], refresh_token: "s3cret-refresh", expires_in: 900 });
  const calls = [() => ac.auth.login("a@b.example", "s3cret-password"), () => ac.request("GET", "/x?q=s3cret-query", { query: { p: "s3cret-query" } }), () => ac.auth.refresh()];
  let printed = "";
  for (const call of calls) await assert.rejects(call, (error) => (printed += inspect(error, { depth: 9 }), error instanceof TransportError));
  printed += JSON.stringify(logged);
  assert.ok(logged.length >= 4 && printed.includes("ECONNREFUSED"));
  assert.deepEqual(secrets.filter((each) => printed.includes(each)), []);
});

test("K24 rows are made as fast as they are sent", async () => {
  let count = 0, sent = 0, ahead = 0;
  function* rows() {
    for (; count < 20_000; count++) yield { name: "x" };
  }
  const { ac } = made(async ({ body }) => {
    for await (const piece of body) {
      ahead = Math.max(ahead, count - sent);
      sent += Buffer.from(piece).toString().split("\n").length - 1;
    }
    return json({ created: sent });
  });
  assert.deepEqual(await ac.collection("a").importRows(rows()), { created: 20_000 });
  assert.ok(ahead <= 1_000, String(ahead));
});
