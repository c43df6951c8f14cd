/** The calls of a collection as code, with values that its schema would take. */

/** @typedef {import("../app/collections.js").Collection} Collection */
/** @typedef {import("../app/collections.js").Definition} Definition */

export const LANGUAGES = { curl: "curl", typescript: "TypeScript", python: "Python" };
const ID = "66f0c1a2b3c4d5e6f7a8b9c0";
const MOST_FIELDS = 4;
const ORDERED = new Set(["string", "integer", "number", "datetime"]);

/** @param {Definition} definition @returns {unknown} A value of its type. */
function sample({ type, enum: values, minimum, default: given }) {
  if (given !== undefined && given !== null) return given;
  if (values?.length) return values[0];
  const numbers = typeof minimum === "number" ? minimum : 1;
  /** @type {Record<string, unknown>} */
  const samples = { string: "text", integer: numbers, number: numbers, boolean: true, datetime: "2026-01-31T12:00:00Z", reference: ID, array: [], object: {} };
  return samples[type] ?? "text";
}

/** @param {Collection} collection @returns {Record<string, unknown>} Required fields first. */
function sampleData({ schema }) {
  const fields = Object.entries(schema).filter(([, { type }]) => type !== "file").toSorted(([, one], [, other]) => Number(other.required ?? false) - Number(one.required ?? false));
  const needed = fields.filter(([, { required }]) => required).length;
  return Object.fromEntries(fields.slice(0, Math.max(needed, MOST_FIELDS)).map(([name, definition]) => [name, sample(definition)]));
}

/** @param {unknown} value @returns {string} As Python writes it. */
export const python = (value) => JSON.stringify(value).replace(/("(?:[^"\\]|\\.)*")|\b(true|false|null)\b/g, (_, text, word) => text ?? { true: "True", false: "False", null: "None" }[/** @type {"true"} */ (word)]);

/** @param {string} text @returns {string} Within single quotes of a shell. */
const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** @param {Collection} collection @param {string} base @param {string} language A key of LANGUAGES.
 * @returns {{ title: string, code: string }[]} */
export function callsOf(collection, base, language) {
  const data = sampleData(collection);
  const [field = "created_at"] = Object.entries(collection.schema).find(([, { type }]) => ORDERED.has(type)) ?? [];
  const change = Object.fromEntries(Object.entries(data).slice(0, 1));
  const calls = { curl: curlCalls, typescript: typescriptCalls, python: pythonCalls }[/** @type {"curl"} */ (language)] ?? curlCalls;
  return calls(collection, base, { data, change, field });
}

/** @typedef {{ data: Record<string, unknown>, change: Record<string, unknown>, field: string }} Values */

/** @param {Collection} collection @param {string} base @param {Values} values */
function curlCalls({ name, realtime }, base, { data, change, field }) {
  const place = `${base}/api/collections/${encodeURIComponent(name)}/documents`;
  const ask = (/** @type {string} */ method, /** @type {string} */ url, /** @type {unknown} */ body) =>
    `curl${method === "GET" ? "" : ` -X ${method}`} "${url}" -H "x-api-key: $API_KEY"${body ? ` \\\n  -H "content-type: application/json" -d ${quote(JSON.stringify(body))}` : ""}`;
  return [
    { title: "List documents", code: ask("GET", `${place}?sort_by=${encodeURIComponent(field)}&limit=20`, null) },
    { title: "Read one", code: ask("GET", `${place}/${ID}`, null) },
    { title: "Create", code: ask("POST", place, { data }) },
    { title: "Change", code: ask("PATCH", `${place}/${ID}`, { data: change }) },
    { title: "Delete", code: ask("DELETE", `${place}/${ID}`, null) },
    ...(realtime ? [{ title: "Follow changes", code: `curl -N "${place}" -H "x-api-key: $API_KEY" -H "accept: text/event-stream"` }] : []),
  ];
}

/** @param {Collection} collection @param {string} base @param {Values} values */
function typescriptCalls({ name, realtime }, base, { data, change, field }) {
  const documents = `client.collection(${JSON.stringify(name)})`;
  const live = `import { realtime } from "@auth-collections/client/realtime";\nconst live = realtime(client).live(${JSON.stringify(name)}, { limit: 50 }, { data: (documents) => console.log(documents) });`;
  return [
    { title: "Make a client", code: `import { createClient } from "@auth-collections/client";\nconst client = createClient({ url: ${JSON.stringify(base)}, key: API_KEY });` },
    { title: "List documents", code: `const page = await ${documents}.list({ sort_by: ${JSON.stringify(field)}, limit: 20 });` },
    { title: "Read one", code: `const document = await ${documents}.get("${ID}");` },
    { title: "Create", code: `const made = await ${documents}.create(${JSON.stringify(data)});` },
    { title: "Change", code: `await ${documents}.update("${ID}", { data: ${JSON.stringify(change)} });` },
    { title: "Delete", code: `await ${documents}.delete("${ID}");` },
    ...(realtime ? [{ title: "Follow changes", code: live }] : []),
  ];
}

/** @param {Collection} collection @param {string} base @param {Values} values */
function pythonCalls({ name, realtime }, base, { data, change, field }) {
  const documents = `client.collection(${JSON.stringify(name)})`;
  return [
    { title: "Make a client", code: `from auth_collections_client import Client\n\nclient = Client(${JSON.stringify(base)}, API_KEY)` },
    { title: "List documents", code: `page = ${documents}.list(sort_by=${JSON.stringify(field)}, limit=20)` },
    { title: "Read one", code: `document = ${documents}.get("${ID}")` },
    { title: "Create", code: `made = ${documents}.create(${python(data)})` },
    { title: "Change", code: `${documents}.update("${ID}", ${python(change)})` },
    { title: "Delete", code: `${documents}.delete("${ID}")` },
    ...(realtime ? [{ title: "Follow changes", code: `with client.live(${JSON.stringify(name)}) as live:\n    for event in live:\n        print(event)` }] : []),
  ];
}
