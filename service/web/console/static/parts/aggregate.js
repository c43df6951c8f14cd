/** An aggregation while it is built: its rows of conditions, groups and values, and what they are in the query language. Pure. */

/** @typedef {Record<string, any>} Aggregate As the service takes it. */
/** @typedef {{ name: string, type: string }} FieldOf */
/** @typedef {{ field: string, operator: string, value: string }} Condition */

export const OPERATORS = { eq: "is", ne: "is not", gt: "is more than", gte: "is at least", lt: "is less than", lte: "is at most", contains: "contains", startswith: "begins with", in: "is one of", isnull: "is empty" };
export const FUNCTIONS = { count: "Count", sum: "Sum", avg: "Average", min: "Least", max: "Greatest", count_distinct: "Different values" };
export const BUCKETS = ["minute", "hour", "day", "week", "month", "quarter", "year"];
export const DATES = ["date", "datetime"];
const NUMBERS = ["integer", "number"];
const OWN = [{ name: "created_at", type: "datetime" }, { name: "updated_at", type: "datetime" }];

/** @param {Record<string, any>} schema @param {string} [prefix] @returns {FieldOf[]} Those of nested objects too. */
function listOwn(schema, prefix = "") {
  return Object.entries(schema).flatMap(([name, { type, properties }]) =>
    type === "object" && properties ? listOwn(properties, `${prefix}${name}.`) : [{ name: prefix + name, type }]);
}

/** The fields that a group may name: those of the collection, and those of the records that it refers to.
 * @param {string} source @param {{ name: string, schema: Record<string, any> }[]} collections @returns {FieldOf[]} */
export function listFields(source, collections) {
  if (source === "users") return [{ name: "email", type: "string" }, ...OWN];
  const schema = collections.find(({ name }) => name === source)?.schema ?? {};
  const related = Object.entries(schema).filter(([name, { type }]) => type === "reference" && name.endsWith("_id")).flatMap(([name, { collection }]) =>
    listOwn(collections.find((each) => each.name === collection)?.schema ?? {}, `${name.slice(0, -3)}.`));
  return [...listOwn(schema), ...OWN, ...related];
}

/** @param {Aggregate} aggregate @returns {Condition[] | null} Null where the filter is more than a list of conditions. */
export function readConditions({ where = {} }) {
  const found = Object.entries(where).map(([key, value]) => {
    const operator = key.slice(key.lastIndexOf("_") + 1);
    return operator in OPERATORS && typeof value !== "object" ? { field: key.slice(0, -operator.length - 1), operator, value: String(value) } : null;
  });
  return found.every((each) => each !== null) ? found : null;
}

/** @param {Condition[]} conditions @param {FieldOf[]} fields @returns {Record<string, any>} Those that name a field and a value. */
export function writeConditions(conditions, fields) {
  return Object.fromEntries(conditions.filter(({ field }) => field).map(({ field, operator, value }) =>
    [`${field}_${operator}`, readValue(value, operator, fields.find(({ name }) => name === field)?.type ?? "string")]));
}

/** @param {string} text @param {string} operator @param {string} type @returns {any} */
function readValue(text, operator, type) {
  if (operator === "isnull") return text !== "false";
  if (text.startsWith("$") || operator === "in") return operator === "in" ? text.split(",").map((part) => readValue(part.trim(), "", type)) : text;
  if (NUMBERS.includes(type) && text.trim() !== "" && Number.isFinite(Number(text))) return Number(text);
  return type === "boolean" ? text === "true" : text;
}

/** @param {string} text @param {string[]} taken @returns {string} A name of a column that is not taken. */
export function nameColumn(text, taken) {
  const base = text.replace(/^-+/, "").replaceAll(".", "_") || "value";
  return taken.includes(base) ? nameColumn(`${base}_2`, taken) : base;
}

/** @param {string} name @param {string} text @returns {boolean} True where `nameColumn` gave the name for the text. */
export const isProposed = (name, text) => name.replace(/(_2)+$/, "") === nameColumn(text, []).replace(/(_2)+$/, "");

/** @param {Record<string, any>} object @param {string} before @param {string} after @param {any} value @returns {Record<string, any>} In the same order. */
export const renameKey = (object, before, after, value) =>
  Object.fromEntries(Object.entries(object).map(([key, each]) => (key === before ? [after, value] : [key, each])));

/** @param {any} value @param {Record<string, string>} samples @param {Record<string, { type: string }>} parameters @returns {any} With the values that are tried. */
export function fillParameters(value, samples, parameters) {
  if (typeof value === "string" && value.startsWith("$") && value.slice(1) in parameters) {
    const name = value.slice(1);
    return readValue(samples[name] ?? "", "", parameters[name]?.type ?? "string");
  }
  if (Array.isArray(value)) return value.map((each) => fillParameters(each, samples, parameters));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fillParameters(each, samples, parameters)]));
}
