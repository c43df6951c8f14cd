/** What a grid shows of a record: its columns, and each value in the way of its type, as text. */
import { number } from "../app/texts.js";

/** @typedef {import("../app/collections.js").Definition} Definition */
/** @typedef {import("../app/collections.js").Collection} Collection */
/** `path` is the name in queries; `field` that in `data`, where the column is a field that may be edited.
 * @typedef {{ path: string, title: string, kind: string, field: string, definition: Definition | null, width: number,
 *   read: (row: any) => unknown, label: (row: any) => string, target: (row: any) => string }} Column */

const TEXT_MAX = 200;
const RESERVED = new Set(["id", "email", "created_at", "updated_at", "version"]);
const ICONS = {
  string: "type", integer: "hash", number: "hash", boolean: "toggle-left", datetime: "calendar", reference: "arrow-up-right",
  file: "paperclip", object: "braces", array: "braces", any: "braces", id: "key-round",
};
const WIDTHS = { integer: 104, number: 112, boolean: 104, datetime: 172, reference: 196, object: 180, array: 180, file: 168, id: 208 };
/** @type {Record<string, Definition>} */
const USER = { email: { type: "string" }, name: { type: "string" } };
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** @param {string} kind */
export const iconOf = (kind) => ICONS[/** @type {keyof typeof ICONS} */ (kind)] ?? "type";

/** @param {string} field @returns {string} Its name in a query, where the service's own names come first. */
export const queryName = (field) => (RESERVED.has(field) || field.startsWith("-") ? `data.${field}` : field);

/** @param {string} field @returns {string} `author` of `author_id`. */
export const relationOf = (field) => field.replace(/_id$/, "");

/** @param {Collection | undefined} collection @returns {string} The field that names a record: the first text of the schema. */
export const labelField = (collection) =>
  Object.entries(collection?.schema ?? {}).find(([, { type }]) => type === "string")?.[0] ?? "";

/** @param {any} record A user or a document. @param {string} field @returns {string} */
export const labelOf = (record, field) => shortText(record?.data?.[field] ?? record?.email ?? "");

/** @param {unknown} value @returns {string} One line of it. */
export function shortText(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
}

/** @param {unknown} value @returns {string} The local time; the text itself where it is none. */
export function moment(value) {
  const time = new Date(String(value));
  return Number.isNaN(time.getTime()) ? shortText(value) : MOMENT.format(time);
}

/** @param {Column} column @param {any} row @returns {string} */
export function cellText(column, row) {
  const value = column.read(row);
  if (value === null || value === undefined) return "";
  if (column.kind === "reference") return column.label(row);
  if (column.kind === "datetime") return moment(value);
  if (column.kind === "boolean") return value ? "✓" : "–";
  if (column.kind === "file") return fileName(String(value));
  if (Array.isArray(value) && column.kind === "array") return `${number(value.length)}: ${shortText(value)}`;
  return shortText(value);
}

/** @param {string} url @returns {string} */
export const fileName = (url) => shortText(url.split("?")[0]?.split("/").pop() ?? "");

/** @param {string} url @param {Definition | null} definition @returns {string} A small picture of it; empty where there is none. */
export function thumbnail(url, definition) {
  const variant = Object.keys(definition?.variants ?? {})[0];
  if (!variant || !/^https?:\/\//.test(url)) return "";
  return `${url}${url.includes("?") ? "&" : "?"}variant=${encodeURIComponent(variant)}`;
}

/** @param {Partial<Column> & { path: string, kind: string, read: (row: any) => unknown }} given @returns {Column} */
export const makeColumn = (given) => ({
  title: given.path, field: "", definition: null, label: () => "", target: () => "",
  width: WIDTHS[/** @type {keyof typeof WIDTHS} */ (given.kind)] ?? 180, ...given,
});

/** @param {Collection} collection @param {Collection[]} all @param {(collection: string, id: string) => string} locate
 * @returns {Column[]} The fields of the schema, then what every document has. */
export function columnsOf(collection, all, locate) {
  const fields = Object.entries(collection.schema).map(([field, definition]) => {
    const column = makeColumn({ path: queryName(field), title: field, kind: definition.type, field, definition,
      read: (row) => row.data[field] });
    return definition.type === "reference" ? { ...column, ...referenceParts(field, definition, all, locate) } : column;
  });
  return [...fields, ...OWN];
}

const OWN = [
  makeColumn({ path: "id", kind: "id", read: (row) => row.id }),
  makeColumn({ path: "created_at", kind: "datetime", read: (row) => row.created_at }),
  makeColumn({ path: "updated_at", kind: "datetime", read: (row) => row.updated_at }),
];

/** @param {string} field @param {Definition} definition @param {Collection[]} all
 * @param {(collection: string, id: string) => string} locate @returns {Partial<Column>} */
function referenceParts(field, definition, all, locate) {
  const target = definition.collection ?? "";
  const name = target === "users" ? "name" : labelField(all.find((each) => each.name === target));
  return {
    label: (row) => {
      const related = row.data[relationOf(field)];
      return related === null ? "gone" : labelOf(related, name);
    },
    target: (row) => locate(target, String(row.data[field])),
  };
}

/** The fields that a filter may name: those of the documents, and those of records that they refer to.
 * @param {Column[]} columns @param {Collection[]} all @returns {{ path: string, kind: string }[]} */
export function filterFields(columns, all) {
  const related = columns.filter(({ kind }) => kind === "reference").flatMap(({ field, definition }) => {
    const target = definition?.collection ?? "";
    const schema = target === "users" ? USER : (all.find(({ name }) => name === target)?.schema ?? {});
    return Object.entries(schema).map(([name, { type }]) => ({ path: `${relationOf(field)}.${name}`, kind: type }));
  });
  return [...columns, ...related];
}
