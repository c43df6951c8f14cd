/** `conformance.js CONFIG` runs the table; `conformance.js CONFIG --serve` makes the calls that it is sent, a line each. */
import { readFile } from "node:fs/promises";
import process from "node:process";
import { createInterface } from "node:readline";
import { makeRunner } from "./runner.js";

const config = JSON.parse(process.argv[2]), runner = makeRunner(config);
if (process.argv[3] === "--serve") {
  for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await runner.perform(JSON.parse(line))));
} else {
  const { calls } = JSON.parse(await readFile(config.calls, "utf8"));
  for (const entry of calls) {
    const report = await runner.runEntry(entry);
    console.log(JSON.stringify(report));
    if (!report.ok) process.exitCode = 1;
  }
}
runner.close();
