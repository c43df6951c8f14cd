/** The compressed size of the core, and what each further entry adds to it: `sizes.js DIST`. Fails past a bound. */
import { gzipSync } from "node:zlib";
import process from "node:process";
import { buildSync } from "esbuild";

/** Bytes, minified and packed by gzip at level 9. */
const BOUNDS = { core: 10_240, realtime: 2_688, passkeys: 1_024, cookies: 1_024, verify: 1_280, admin: 2_048 };
const dist = process.argv[2] ?? "dist";

function sizeOf(...entries) {
  const contents = entries.map((name, at) => `export * as e${at} from "./${name}.js";`).join("\n");
  const stdin = { contents, resolveDir: dist };
  const { outputFiles } = buildSync({ stdin, bundle: true, minify: true, format: "esm", target: "es2022", write: false });
  return gzipSync(outputFiles[0].contents, { level: 9 }).length;
}

const core = sizeOf("index"), sizes = { core };
for (const name of Object.keys(BOUNDS).slice(1)) sizes[name] = sizeOf("index", name) - core;
console.log(JSON.stringify(sizes));
const large = Object.keys(BOUNDS).filter((name) => sizes[name] > BOUNDS[name]);
if (large.length) {
  console.error(`Larger than its bound: ${large.map((name) => `${name} ${sizes[name]} > ${BOUNDS[name]}`).join(", ")}`);
  process.exitCode = 1;
}
