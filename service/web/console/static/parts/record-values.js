/** Between what is typed into a record and what is sent: only fields that changed, with the version that was read. */
import { call } from "../app/api.js";
import { readTyped, writeTyped } from "../grid/editing.js";
import { parseJson, writeJson } from "./editor.js";

/** @typedef {import("../app/collections.js").Definition} Definition */
/** `value` undefined removes the field. @typedef {Record<string, { value: any, files: File[] }>} Changes */

const JSON_TYPES = new Set(["object", "array", "any"]);

/** @param {unknown} value @param {Definition} definition @returns {string} */
export function writeField(value, definition) {
  if (value === undefined) return "";
  if (JSON_TYPES.has(definition.type)) return writeJson(value);
  return writeTyped(value);
}

/** @param {Record<string, Definition>} schema @param {Record<string, string>} typed @param {Record<string, string>} before
 * @param {Record<string, File[]>} files @returns {{ changes: Changes, bad: Record<string, string> }} */
export function readChanges(schema, typed, before, files) {
  /** @type {Changes} */
  const changes = {};
  /** @type {Record<string, string>} */
  const bad = {};
  for (const [name, definition] of Object.entries(schema)) {
    const text = typed[name] ?? "";
    const added = files[name] ?? [];
    if (text === before[name] && !added.length) continue;
    const { value, mistake } = JSON_TYPES.has(definition.type) && text ? parseJson(text) : { value: readTyped(text, definition), mistake: null };
    if (mistake) bad[name] = `Line ${mistake.line}: ${mistake.text}`;
    changes[name] = { value: JSON_TYPES.has(definition.type) && !text ? undefined : value, files: added };
  }
  return { changes, bad };
}

/** @param {string} path The collection's. @param {any} record As it was read; without an id it is new.
 * @param {Changes} changes @returns {Promise<any>} The record as it is stored. */
export async function storeRecord(path, record, changes) {
  const entries = Object.entries(changes);
  const sent = entries.filter(([, { files }]) => files.length);
  const data = Object.fromEntries(entries.filter(([, { value, files }]) => value !== undefined && !files.length).map(([name, { value }]) => [name, value]));
  const unset = entries.filter(([, { value, files }]) => value === undefined && !files.length).map(([name]) => name);
  const form = sent.length ? makeForm(data, sent) : null;
  if (!record.id)
    return call(`${path}/documents`, { method: "POST", body: form ?? { data }, headers: form ? {} : { "idempotency-key": crypto.randomUUID() } });
  const one = `${path}/documents/${encodeURIComponent(record.id)}`;
  let { version } = record;
  if (form && unset.length) version = (await call(one, { method: "PATCH", body: { unset }, headers: { "if-match": `"v${version}"` } })).version;
  const body = form ?? { ...(Object.keys(data).length ? { data } : {}), ...(unset.length ? { unset } : {}) };
  return call(one, { method: "PATCH", body, headers: { "if-match": `"v${version}"` } });
}

/** Files follow those whose URLs the field keeps. @param {object} data @param {[string, { value: any, files: File[] }][]} sent */
function makeForm(data, sent) {
  const kept = Object.fromEntries(sent.filter(([, { value }]) => Array.isArray(value)).map(([name, { value }]) => [name, value]));
  const form = new FormData();
  form.append("data", JSON.stringify({ ...data, ...kept }));
  for (const [name, { files }] of sent) for (const file of files) form.append(name, file);
  return form;
}

/** @param {any} error @returns {{ faults: Record<string, string>, alert: string }} What belongs at fields, and what does not. */
export function faultsOf(error) {
  /** @type {Record<string, string>} */
  const faults = {};
  const rest = [];
  for (const { loc, msg } of error.faults ?? []) {
    const field = loc[1] === "data" ? loc[2] : loc[1] === "unset" ? undefined : loc[1];
    if (field !== undefined) faults[String(field)] ??= loc.length > 3 ? `${loc.slice(3).join(".")}: ${msg}` : msg;
    else rest.push(msg);
  }
  return { faults, alert: error.faults?.length ? rest.join(" ") : error.message };
}
