/** The query language, as the filter of a page writes and reads it: conditions of one level, and JSON for all else. */

/** @typedef {{ field: string, operator: string, value: any, isNot?: boolean }} Condition */
/** @typedef {{ conditions: Condition[], any: boolean }} Filter */

export const OPERATORS = {
  eq: "is", ne: "is not", gt: "is more than", gte: "is at least", lt: "is less than", lte: "is at most",
  contains: "contains", icontains: "contains, in any case", startswith: "begins with", in: "is one of", hasall: "has all of", isnull: "is empty",
};
const ORDERED = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "isnull"];
const OF_TYPE = {
  string: ["icontains", "eq", "ne", "contains", "startswith", "in", "isnull"], integer: ORDERED, number: ORDERED,
  datetime: ["gte", "lt", "gt", "lte", "isnull"], boolean: ["eq", "ne", "isnull"], reference: ["eq", "ne", "in", "isnull"],
  array: ["eq", "hasall", "isnull"], object: ["isnull"], file: ["isnull"], id: ["eq", "in"],
};
const LINK_MAX = 4_000;

/** @param {string} type @returns {string[]} */
export const operatorsOf = (type) => OF_TYPE[/** @type {keyof typeof OF_TYPE} */ (type)] ?? ["eq", "ne", "isnull"];

/** @param {string} text As it stands in the address. @returns {{ where: any, isBad: boolean }} */
export function readWhere(text) {
  if (!text) return { where: {}, isBad: false };
  try {
    const where = JSON.parse(text);
    if (where && typeof where === "object" && !Array.isArray(where)) return { where, isBad: false };
  } catch {
    // Not JSON: said below.
  }
  return { where: {}, isBad: true };
}

/** @param {object} where @returns {string} The text for the address; empty for all records. */
export const writeWhere = (where) => (Object.keys(where).length ? JSON.stringify(where) : "");

/** @param {string} target @returns {boolean} */
export const isTooLong = (target) => target.length > LINK_MAX;

/** @param {[string, any]} entry @returns {Condition | null} */
function readEntry([key, value]) {
  const cut = key.lastIndexOf("_");
  const operator = key.slice(cut + 1);
  return cut > 0 && operator in OPERATORS ? { field: key.slice(0, cut), operator, value } : null;
}

/** @param {any} part @returns {Condition | null} One condition, negated or not. */
function readOne(part) {
  const entries = Object.entries(part ?? {});
  if (entries.length !== 1 || !entries[0]) return null;
  if (entries[0][0] !== "not") return readEntry(entries[0]);
  const inner = readOne(entries[0][1]);
  return inner && !inner.isNot ? { ...inner, isNot: true } : null;
}

/** @param {any} where @returns {Filter | null} Null where it is more than a list of conditions. */
export function readFilter(where) {
  const keys = Object.keys(where);
  const isList = keys.length === 1 && (keys[0] === "or" || keys[0] === "and") && Array.isArray(where[keys[0]]);
  const parts = isList ? where[keys[0] ?? ""] : Object.entries(where).map(([key, value]) => ({ [key]: value }));
  const conditions = parts.map(readOne);
  return conditions.every(Boolean) ? { conditions, any: isList && keys[0] === "or" } : null;
}

/** @param {Filter} filter @returns {object} */
export function writeFilter({ conditions, any }) {
  const parts = conditions.map(({ field, operator, value, isNot }) => {
    const condition = { [`${field}_${operator}`]: value };
    return isNot ? { not: condition } : condition;
  });
  if (parts.length > 1 && any) return { or: parts };
  const flat = Object.assign({}, ...parts);
  return Object.keys(flat).length === parts.length ? flat : { and: parts };
}

/** @param {string} text What is typed. @param {string} operator @param {string} type Of the field. @returns {any} */
export function readValue(text, operator, type) {
  if (operator === "isnull") return text !== "false";
  if (operator === "in" || operator === "hasall") return text.split(",").map((each) => readScalar(each.trim(), type)).filter((each) => each !== "");
  return readScalar(text, type);
}

/** @param {string} text @param {string} type @returns {any} */
function readScalar(text, type) {
  if (type === "integer" || type === "number") return text.trim() === "" || Number.isNaN(Number(text)) ? text : Number(text);
  if (type === "boolean") return text !== "false";
  return text;
}

/** @param {any} value @returns {string} As it is typed. */
export const writeValue = (value) => (Array.isArray(value) ? value.join(", ") : String(value));

/** @param {Condition} condition @returns {[string, string, string]} Its parts in words. */
export function describe({ field, operator, value, isNot }) {
  const words = OPERATORS[/** @type {keyof typeof OPERATORS} */ (operator)] ?? operator;
  if (operator === "isnull") return [field, value === Boolean(isNot) ? "is not empty" : "is empty", ""];
  return [field, isNot ? `not: ${words}` : words, Array.isArray(value) ? value.join(", ") : String(value)];
}
