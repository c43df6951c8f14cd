/** Bodies of writes, and conditions: plain data becomes JSON, data with files a form, nested conditions dotted names. */
import { ConfigurationError } from "./errors.js";
import type { Progress } from "./progress.js";
import { Placeholder } from "./placeholders.js";
import type { Call, CallOptions } from "./transport.js";

type Fields = Record<string, unknown>;
export interface FileOptions extends CallOptions {
  /** Bytes that were sent, and all bytes: continuously in a page, else at start and end. */
  onProgress?: Progress;
}

const RAW = Symbol("raw");
const LOGIC = ["and", "or", "not"];

/** Conditions that are sent as they are: dotted names, and what the types cannot say. */
export const raw = (where: Fields): any => ({ [RAW]: where });

const isPlain = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date) && !(value instanceof Placeholder);

/** The condition as the service takes it: `{author: {name_eq: "x"}}` becomes `{"author.name_eq": "x"}`. */
export function flatten(where: object | undefined): Fields | undefined {
  if (!where || RAW in where) return where && (where as { [RAW]: Fields })[RAW];
  return Object.fromEntries(entriesOf(where as Fields, ""));
}

function entriesOf(where: Fields, prefix: string): [string, unknown][] {
  return Object.entries(where).flatMap(([name, value]): [string, unknown][] => {
    if (value === undefined) return [];
    if (!prefix && LOGIC.includes(name)) return [[name, Array.isArray(value) ? value.map(flatten) : flatten(value as Fields)]];
    return isPlain(value) ? entriesOf(value, `${prefix}${name}.`) : [[prefix + name, value]];
  });
}

const isUpload = (value: unknown): value is Blob | { name: string; content: Blob } =>
  value instanceof Blob || (isPlain(value) && value["content"] instanceof Blob);
const hasUpload = (value: unknown): boolean => isUpload(value) || (Array.isArray(value) && value.some(isUpload));

export function refuseFiles(body: object, why: string): void {
  const all = Object.values(body).flatMap((value) => (isPlain(value) && !isUpload(value) ? Object.values(value) : [value]));
  if (all.some(hasUpload)) throw new ConfigurationError(why);
}

/** The part of a call that carries `data`: a form where a field has a file, else JSON as `wrap` makes it. */
export function write(data: object, wrap: (data: object) => unknown, { onProgress }: FileOptions = {}): Partial<Call> {
  const entries = Object.entries(data);
  if (!entries.some(([, value]) => hasUpload(value))) return { json: wrap(data), onProgress };
  const form = new FormData(), files: [string, unknown][] = [];
  const kept = entries.flatMap(([name, value]): [string, unknown][] => {
    if (!hasUpload(value)) return [[name, value]];
    const all = Array.isArray(value) ? value : [value], stays = all.filter((each) => !isUpload(each));
    files.push(...all.filter(isUpload).map((each): [string, unknown] => [name, each]));
    return stays.length ? [[name, stays]] : [];
  });
  form.append("data", JSON.stringify(Object.fromEntries(kept)));
  for (const [name, file] of files) append(form, name, file as Blob | { name: string; content: Blob });
  return { body: form, safety: "once", onProgress };
}

function append(form: FormData, field: string, file: Blob | { name: string; content: Blob }): void {
  if (!(file instanceof Blob)) form.append(field, file.content, file.name);
  else if (file instanceof File) form.append(field, file, file.name);
  else throw new ConfigurationError(`The file of ${field} needs a name: {name, content}`);
}

/** The header of a condition on the stored version: a document's `version`, or an ETag. */
export const ifMatch = (version: number | string | undefined): Record<string, string> =>
  version === undefined ? {} : { "if-match": typeof version === "number" ? `"v${version}"` : version };

/** A part of a path. */
export const part = (value: unknown): string => encodeURIComponent(String(value));
