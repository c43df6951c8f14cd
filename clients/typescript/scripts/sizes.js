/** The compressed size of the core, and what each further entry adds to it: `sizes.js DIST`. Fails past a bound. */
import { basename } from "node:path";
import { gzipSync } from "node:zlib";
import process from "node:process";
import { buildSync } from "esbuild";

/** Bytes, minified and packed by gzip at level 9. */
const BOUNDS = { core: 8_192, realtime: 2_048, passkeys: 1_024, cookies: 1_024, verify: 1_280, admin: 2_048 };
const dist = process.argv[2] ?? "dist";

/** A page loads an entry and what that imports; a part that it imports by a call is loaded at its first use. */
function sizeOf(...entries) {
  const contents = entries.map((name) => `export * from "./${name}.js";`).join("\n");
  const stdin = { contents, resolveDir: dist, sourcefile: "page.js" };
  const options = { bundle: true, splitting: true, minify: true, metafile: true, format: "esm", target: "es2022", outdir: "/", write: false };
  const { outputFiles, metafile } = buildSync({ stdin, ...options }), loaded = new Set();
  const texts = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]));
  const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]));
  const load = (name) => {
    loaded.add(name);
    for (const { path, kind } of outputs.get(name).imports)
      if (kind === "import-statement" && !loaded.has(basename(path))) load(basename(path));
  };
  load("stdin.js");
  return gzipSync(Buffer.concat([...loaded].map((name) => texts.get(name))), { level: 9 }).length;
}

const core = sizeOf("index"), sizes = { core };
for (const name of Object.keys(BOUNDS).slice(1)) sizes[name] = sizeOf("index", name) - core;
console.log(JSON.stringify(sizes));
const large = Object.keys(BOUNDS).filter((name) => sizes[name] > BOUNDS[name]);
if (large.length) {
  console.error(`Larger than its bound: ${large.map((name) => `${name} ${sizes[name]} > ${BOUNDS[name]}`).join(", ")}`);
  process.exitCode = 1;
}
