// A report of a collection for a server's operator: URL and API_KEY in the environment, then `node report.mjs COLLECTION FIELD`.
import { createWriteStream } from "node:fs";
import { Writable } from "node:stream";
import { createClient, ServiceError } from "@auth-collections/client";

const [collection, field] = process.argv.slice(2);
const ac = createClient({ url: process.env.URL, key: process.env.API_KEY }), records = ac.collection(collection);
try {
  console.log(`${await records.count()} in ${collection}`);
  const { rows } = await records.aggregate({ group: { value: field }, values: { count: "count" }, sort_by: "-count" });
  for (const { value, count } of rows) console.log(`${count} × ${value}`);
  await (await records.exportRows({ format: "csv" })).pipeTo(Writable.toWeb(createWriteStream(`${collection}.csv`)));
} catch (error) {
  if (!(error instanceof ServiceError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = 1;
}
ac.close();
