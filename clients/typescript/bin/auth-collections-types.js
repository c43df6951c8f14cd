#!/usr/bin/env node
/** Writes the types of a project. The address and the key come from the environment, for a command line is seen by all. */
import { createHash } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import process from "node:process";
import { parseArgs } from "node:util";

const USAGE = `auth-collections-types [--language typescript|python] [--view server|users|anyone] [--out FILE] [--check] [--json]

AUTH_COLLECTIONS_URL is the address of the service, AUTH_COLLECTIONS_KEY a key of the project.`;
const EMPTY = "Guests reach no collection, so the types have none. Use the secret key, with --view users for a page";
/** The line of a text that names a collection, in each language. */
const NAMED = /^ {4}"?([A-Za-z][A-Za-z0-9_-]*)"?: \{ data: |^\w+Ref: .* = CollectionRef\("([^"]+)"\)$/gm;
const OPTIONS = {
  language: { type: "string", default: "typescript" },
  view: { type: "string" },
  out: { type: "string" },
  check: { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
};

class Failure extends Error {}

async function read({ language, view }) {
  const { AUTH_COLLECTIONS_URL: url, AUTH_COLLECTIONS_KEY: key } = process.env;
  if (!url || !key) throw new Failure("Set AUTH_COLLECTIONS_URL and AUTH_COLLECTIONS_KEY");
  const query = new URLSearchParams({ language, ...(view && { view }) });
  const options = { headers: { "x-api-key": key }, redirect: "error", signal: AbortSignal.timeout(60_000) };
  const answer = await fetch(`${url.replace(/\/+$/, "")}/api/types?${query}`, options).catch(() => {
    throw new Failure("The service did not answer");
  });
  const text = await answer.text();
  if (answer.ok && answer.headers.get("content-type")?.startsWith("text/plain")) return text;
  let detail;
  try {
    detail = JSON.parse(text).detail;
  } catch {
    // The answer is none of the service's.
  }
  throw new Failure(`The service answered ${answer.status}${detail ? `: ${Array.isArray(detail) ? detail[0].msg : detail}` : ""}`);
}

/** The parts of a text by collection: a collection differs where one of the declarations named after it does. */
function differences(old, text) {
  const names = new Set([...(old ?? "").matchAll(NAMED), ...text.matchAll(NAMED)].map((found) => found[1] ?? found[2]));
  const words = (all) => new Set((all ?? "").split(/\n(?=export |\w+ = |\w+Ref: |\})/));
  const before = words(old), after = words(text);
  const changed = [...before, ...after].filter((block) => before.has(block) !== after.has(block)).join("\n");
  const typed = (name) => name.split(/[-_]/).map((each) => each.charAt(0).toUpperCase() + each.slice(1)).join("");
  const found = [...names].filter((name) => new RegExp(`\\b(New)?${typed(name)}(Keys|Where|Ref)?(_[0-9a-f]{6})?\\b`).test(changed));
  return old === null || !found.length ? [...names] : found;
}

async function kept(out) {
  try {
    return await readFile(out, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return null;
    throw new Failure(`${out} cannot be read`);
  }
}

async function main() {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help) return console.log(USAGE);
  const isGuest = process.env["AUTH_COLLECTIONS_KEY"]?.startsWith("acp_");
  const { language, view = isGuest ? "anyone" : "server", out, check, json } = values;
  if (!out && (check || json)) throw new Failure("--check and --json need --out FILE");
  const text = await read(values);
  if (isGuest && !text.match(NAMED)) console.error(EMPTY);
  if (!out) return process.stdout.write(text);
  const report = { language, view, etag: `"${createHash("sha256").update(text).digest("hex")}"`, bytes: Buffer.byteLength(text), out };
  if (check) {
    const old = await kept(out), differs = old === text ? [] : differences(old, text);
    Object.assign(report, { equal: old === text, differs });
    if (old !== text) process.exitCode = 1;
    if (old !== text && !json) console.log(`${out} differs: ${differs.join(", ")}`);
  } else {
    const temporary = `${out}.${process.pid}.tmp`;
    await writeFile(temporary, text);
    await rename(temporary, out);
  }
  if (json) console.log(JSON.stringify(report));
}

main().catch((error) => {
  console.error(error instanceof Failure || error.code?.startsWith("ERR_PARSE") ? error.message : String(error));
  process.exitCode = 2;
});
