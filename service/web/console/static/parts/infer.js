/** What the beginning of a file of rows looks like: its columns, and a type for each that fits all of its values. Pure. */

/** @typedef {{ header: string, name: string, type: import("../app/collections.js").FieldType, empty: number, distinct: number, examples: string[] }} Column */
/** `end` is where the header's line ends in the text, with its break. @typedef {{ columns: Column[], rows: number, end: number }} Guess */

const ROWS_MAX = 1_000;
const EXAMPLES = 3;
const DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;
const INTEGER = /^-?(0|[1-9]\d{0,17})$/;
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i;
/** @type {[string, (text: string) => boolean][]} */
const TYPES = [
  ["integer", (text) => INTEGER.test(text)],
  ["number", (text) => NUMBER.test(text)],
  ["boolean", (text) => text === "true" || text === "false"],
  ["datetime", (text) => DATE.test(text)],
];

/** @param {string} header @param {number} at @returns {string} A name that a field may have. */
const legalName = (header, at) => header.trim().replace(/[.\p{Cc}]+/gu, "_").replace(/^\$+/, "").slice(0, 128) || `column_${at + 1}`;

/** The records of a CSV text; one that is cut at the end is left out, unless the text is the whole file.
 * @param {string} text @param {string} delimiter @param {boolean} isWhole @returns {{ cells: string[], end: number }[]} */
export function readCsv(text, delimiter, isWhole) {
  const records = [];
  let cells = [""];
  let isQuoted = false;
  for (let at = 0; at < text.length && records.length <= ROWS_MAX; at += 1) {
    const letter = text[at] ?? "";
    const last = cells.length - 1;
    if (isQuoted && letter === '"' && text[at + 1] === '"') {
      cells[last] += letter;
      at += 1;
    } else if (letter === '"' && (isQuoted || cells[last] === "")) isQuoted = !isQuoted;
    else if (isQuoted) cells[last] += letter;
    else if (letter === delimiter) cells.push("");
    else if (letter === "\n") {
      records.push({ cells, end: at + 1 });
      cells = [""];
    } else if (letter !== "\r") cells[last] += letter;
  }
  if (isWhole && (cells.length > 1 || cells[0])) records.push({ cells, end: text.length });
  return records;
}

/** @param {string} text @returns {string} What stands between the cells of the header. */
export function findDelimiter(text) {
  const header = text.slice(0, text.indexOf("\n") >>> 0);
  return [",", ";", "\t"].reduce((best, each) => (header.split(each).length > header.split(best).length ? each : best), ",");
}

/** @param {string[]} values @returns {import("../app/collections.js").FieldType} */
const typeOf = (values) => /** @type {import("../app/collections.js").FieldType} */ ((values.length && TYPES.find(([, fits]) => values.every(fits))?.[0]) || "string");

/** @param {string} text @param {string} delimiter @param {boolean} isWhole @returns {Guess} */
export function inferCsv(text, delimiter, isWhole) {
  const [head, ...rows] = readCsv(text, delimiter, isWhole);
  const headers = (head?.cells ?? []).map((each, at) => (at === 0 ? each.replace(/^\uFEFF/, "") : each));
  const columns = headers.map((header, at) => {
    const values = rows.map(({ cells }) => cells[at] ?? "");
    const there = values.filter((each) => each !== "");
    return describe(header, legalName(header, at), typeOf(there), values.length - there.length, there);
  });
  return { columns, rows: rows.length, end: head?.end ?? 0 };
}

/** @param {string} text @param {boolean} isWhole @returns {Guess} Of lines as an export writes them. */
export function inferLines(text, isWhole) {
  const lines = text.split("\n");
  if (!isWhole) lines.pop();
  const rows = lines.filter((line) => line.trim()).slice(0, ROWS_MAX).map((line) => JSON.parse(line).data ?? {});
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = names.map((name) => {
    const there = rows.map((row) => row[name]).filter((value) => value !== undefined && value !== null);
    return describe(name, name, typeOfJson(there), rows.length - there.length, there.map((value) => (typeof value === "string" ? value : JSON.stringify(value))));
  });
  return { columns, rows: rows.length, end: 0 };
}

/** @param {unknown[]} values @returns {import("../app/collections.js").FieldType} */
function typeOfJson(values) {
  if (values.length && values.every((each) => typeof each === "string")) return typeOf(/** @type {string[]} */ (values)) === "datetime" ? "datetime" : "string";
  if (values.length && values.every(Number.isInteger)) return "integer";
  const kinds = new Set(values.map((each) => (Array.isArray(each) ? "array" : typeof each)));
  const [kind = "any"] = kinds;
  return kinds.size === 1 && ["number", "boolean", "object", "array"].includes(kind) ? /** @type {"object"} */ (kind) : "any";
}

/** @param {string} header @param {string} name @param {import("../app/collections.js").FieldType} type @param {number} empty @param {string[]} there @returns {Column} */
function describe(header, name, type, empty, there) {
  const distinct = new Set(there);
  return { header, name, type, empty, distinct: distinct.size, examples: [...distinct].slice(0, EXAMPLES).map((each) => each.slice(0, 40)) };
}

/** @param {string[]} names @param {string} delimiter @returns {string} */
export const writeHeader = (names, delimiter) => `${names.map((name) => `"${name.replaceAll('"', '""')}"`).join(delimiter)}\n`;
