/** `live.js CONFIG`: a live list whose socket is cut twice misses nothing, and a closed client ends the process by itself. */
import assert from "node:assert/strict";
import process from "node:process";
import { createClient, memory } from "@auth-collections/client";
import { realtime } from "@auth-collections/client/realtime";

const config = JSON.parse(process.argv[2]), { url } = config;
const server = createClient({ url, key: config.secret_key });
const store = memory(), ac = createClient({ url, key: config.publishable_key, session: store });
const cut = async () => (await (await fetch(`${config.control}/cut`)).json()).sockets;
const states = [], titles = () => live.documents.map(({ data }) => data.title);
let wake = () => {};
const until = async (check) => {
  while (!check()) await new Promise((resolve) => (wake = resolve));
};

await ac.auth.signup({ email: "live@example.com", password: "correct horse" });
await server.collection("books").create({ title: "one" });
const live = realtime(ac).live("books", { sort_by: "title", limit: 10 }, {
  data: () => { wake(); throw new Error("a listener that throws"); },
  state: (state, problem) => { states.push(problem?.code ?? state); wake(); },
});
const second = realtime(ac).live("books", { limit: 1 }, { data: () => wake() });
console.error = () => {};
await until(() => live.documents.length === 1 && second.documents.length === 1);
for (const title of ["three", "two"]) {
  assert.equal(await cut(), 1, "two lists share one socket");
  await server.collection("books").create({ title });
  await until(() => titles().includes(title));
}
assert.deepEqual(titles(), ["one", "three", "two"]);
assert.deepEqual(states, ["connecting", "live", "stale", "live", "stale", "live"]);
// The token died while the process slept: it is refreshed before the socket comes back.
const slept = { ...store.get(), expires_at: Date.now() - 1 };
store.set(slept);
assert.equal(await cut(), 1);
await server.collection("books").create({ title: "zero" });
await until(() => titles().includes("zero"));
assert.notEqual(store.get().access_token, slept.access_token);
const fresh = await server.collection("books").list({ sort_by: "title", limit: 10 });
assert.deepEqual(live.documents.map(({ id }) => id), fresh.documents.map(({ id }) => id));
// Another user: the list goes on as that user, over a socket of its own.
await ac.auth.logout();
await until(() => states.at(-1) === "live" && states.length > 8);
second.close();
assert.equal(await cut(), 1);
live.close();
assert.equal(live.state, "closed");
const items = realtime(ac).changes("books", { sort_by: "title" });
assert.equal((await items.next()).value.documents.length, 4);
const next = items.next();
await server.collection("books").create({ title: "four" });
assert.equal((await next).value.op, "enter");
ac.close();
assert.equal((await items.next()).done, true);
console.log("done");
