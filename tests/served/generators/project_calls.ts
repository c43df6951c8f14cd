// What the types of a project's document are used for: `node project_calls.js URL API_KEY`.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { argv: string[] };
const [baseUrl, apiKey] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { "x-api-key": apiKey } });
const list = "/api/collections/gen-books/documents";

function data<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const made = data(await client.POST(list, { body: { data: { isbn: "ts", stock: 2, "in print": false } } }));
const filters: components["schemas"]["GenBooksFilters"] = { isbn_eq: "ts", stock_gte: 2, "in print_eq": false };
const found = data(await client.GET(list, { params: { query: { filters } } }));
const stock: number = found.documents[0].data.stock;
if (stock !== 2 || found.documents[0].id !== made.id) throw new Error(JSON.stringify(found));
const one = data(await client.POST("/api/collections/gen-books/query", { body: { where: { or: [{ stock_eq: 2 }] } } }));
if (one.total !== 1) throw new Error(JSON.stringify(one));
// @ts-expect-error A misspelt field is no field.
const wrong: components["schemas"]["GenMakersWhere"] = { nmae_eq: "x" };
