/** Export: the file that the service streams, or CSV in which no spreadsheet finds a formula. */
import { useState } from "preact/hooks";
import { html } from "../app/html.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { Choice } from "../parts/tabs.js";

const FORMULA = /^[=+\-@\t\r]/;
const NUMBER = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i;
const BASE = new URL("../admin/v1/", document.baseURI);

/** Puts an apostrophe before each cell that a spreadsheet may take for a formula; numbers stay.
 * @returns {(part: string, isLast: boolean) => string} Takes the file in parts, wherever they are cut. */
export function makeGuard() {
  let cell = "";
  let isQuoted = false;
  const flush = () => {
    const [, quote = "", inner = ""] = /^("?)([^]*)$/.exec(cell) ?? [];
    cell = "";
    return FORMULA.test(inner) && !NUMBER.test(inner) ? `${quote}'${inner}` : quote + inner;
  };
  return (part, isLast) => {
    let text = "";
    for (const letter of part) {
      if (letter === '"') isQuoted = !isQuoted;
      if (!isQuoted && (letter === "," || letter === "\n" || letter === "\r")) text += flush() + letter;
      else cell += letter;
    }
    return isLast ? text + flush() : text;
  };
}

/** @param {URL} url @param {AbortSignal} signal @returns {Promise<Blob>} */
async function readGuarded(url, signal) {
  const answer = await fetch(url, { signal, cache: "no-store" });
  if (!answer.ok || !answer.body) throw new Error((await answer.json().catch(() => null))?.detail ?? `The service answered with ${answer.status}.`);
  const guard = makeGuard();
  /** @type {string[]} */
  const parts = [];
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let step = await reader.read(); !step.done; step = await reader.read()) parts.push(guard(step.value, false));
  parts.push(guard("", true));
  return new Blob(parts, { type: "text/csv" });
}

/** @param {string} address @param {string} name */
function save(address, name) {
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
}

/** @param {{ path: string, name: string, where: string, close: () => void }} given `path` is the collection's. */
export function ExportDialog({ path, name, where, close }) {
  const [format, choose] = useState("csv");
  const [isGuarded, guard] = useState(true);
  const [failure, fail] = useState("");
  const [isBusy, setBusy] = useState(false);
  const url = new URL(`${path}/export`, BASE);
  url.searchParams.set("format", format);
  if (where) url.searchParams.set("where", where);
  const start = async (/** @type {Event} */ event) => {
    event.preventDefault();
    if (format !== "csv" || !isGuarded) {
      save(url.href, `${name}.${format}`);
      return close();
    }
    setBusy(true);
    try {
      const address = URL.createObjectURL(await readGuarded(url, AbortSignal.timeout(600_000)));
      save(address, `${name}.csv`);
      URL.revokeObjectURL(address);
      close();
    } catch (error) {
      fail(error instanceof Error ? error.message : String(error));
    }
    setBusy(false);
  };
  return html`<${Dialog} title=${`Export ${name}`} close=${close}><form onSubmit=${start}><div class="dialog-body">
      <p class="soft">${where ? "The documents that match the filter" : "All documents"}, as they are at one moment.</p>
      ${failure && html`<p class="form-alert" role="alert">${failure}</p>`}
      <${Choice} label="Format" value=${format} choices=${{ csv: "CSV", ndjson: "NDJSON" }} choose=${choose} />
      ${format === "csv" && html`<label class="row"><input class="check" type="checkbox" checked=${isGuarded} onChange=${() => guard(!isGuarded)} />Safe for spreadsheets</label>
        <p class="field-hint row-top"><${Icon} name="triangle-alert" small /><span>A spreadsheet runs cells that begin with = + - or @ as formulas. An apostrophe before them prevents that; leave it out for an import.</span></p>`}
    </div><div class="dialog-foot"><button class="button" type="button" onClick=${close}>Cancel</button><button class="button button-primary" disabled=${isBusy}>Export</button></div></form><//>`;
}
