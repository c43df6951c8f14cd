// What the types that openapi-typescript makes are used for: `node calls.js URL API_KEY`.
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

declare const process: { argv: string[] };
const [baseUrl, apiKey] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { "x-api-key": apiKey } });
const account = { email: "generated-typescript@example.com", password: "correct horse" };

function data<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

function equal(found: unknown, expected: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(expected)) throw new Error(`${JSON.stringify(found)} is not ${expected}`);
}

data(await client.POST("/auth-collections/signup", { body: { ...account, name: "Ann" } }));
const token: string = data(await client.POST("/auth-collections/login", { body: account })).access_token;
const profile = data(
  await client.GET("/auth-collections/user", { headers: { "x-api-key": null, authorization: `Bearer ${token}` } }),
);
equal(profile.data["name"], "Ann");
const users = data(await client.GET("/auth-collections/users", { params: { query: { limit: 1000 } } }));
equal(users.users.some((user) => user.email === account.email), true);

const name = "generated-typescript";
const schema = { tags: { type: "array", items: { type: "string" } } } as const;
equal(data(await client.POST("/api/collections", { body: { name, schema } })).schema["tags"]?.type, "array");
const path = { name };
const made = data(
  await client.POST("/api/collections/{name}/documents", { params: { path }, body: { data: { tags: ["one", "two"] } } }),
);
// Who writes by a rule may be one who cannot read.
equal(made.data?.["tags"], ["one", "two"]);
equal(data(await client.GET("/api/collections/{name}/documents", { params: { path } })).total, 1);

// A typed object of filters is sent as the service reads it.
const list = "/api/collections/{name}/documents";
const found = (filters: Record<string, string>) => client.GET(list, { params: { path, query: { filters, limit: 10 } } });
equal(data(await found({ tags_eq: "one", created_at_gte: "2026-01-01" })).documents.length, 1);
equal(data(await found({ tags_eq: "three" })).documents.length, 0);
equal((await found({ $where_eq: "1" })).response.status, 422);
