/** Imports and exports of whole collections, in memory that does not depend on their size. */
import { flatten } from "./bodies.js";
import type { Ask } from "./client.js";
import { ConfigurationError, TransportError } from "./errors.js";
import { type CallOptions, isPage } from "./transport.js";

export interface ImportOptions extends CallOptions {
  format?: "ndjson" | "csv";
  mode?: "create" | "upsert";
  by?: string;
  dry_run?: boolean;
  delimiter?: string;
}
type Rows = Iterable<object> | AsyncIterable<object>;

const TYPES = { ndjson: "application/x-ndjson", csv: "text/csv" };
const LINES = 500, NEWLINE = 10;

/** Sends rows, or a text, bytes, a Blob or a stream that is in the `format` already. */
export async function imported(ask: Ask, path: string, rows: unknown, options: ImportOptions): Promise<any> {
  const { format, mode, by, dry_run, delimiter, ...rest } = options;
  const body = isReady(rows) ? (rows as BodyInit) : streamOf(rows as Rows);
  if (isReady(rows) && !format) throw new ConfigurationError("A text, bytes, a Blob or a stream is imported with its `format`");
  if (!isReady(rows) && format === "csv") throw new ConfigurationError("Rows are imported as ndjson; send CSV as text");
  const sent = isPage && body instanceof ReadableStream ? await new Response(body).blob() : body;
  const headers = { "content-type": TYPES[format ?? "ndjson"] };
  return ask("POST", path, { query: { mode, by, dry_run, delimiter }, headers, body: sent }, rest);
}

const isReady = (rows: unknown): boolean =>
  typeof rows === "string" || rows instanceof Blob || rows instanceof ReadableStream || rows instanceof ArrayBuffer || ArrayBuffer.isView(rows);

/** Lines of NDJSON, made as fast as they are sent. */
function streamOf(rows: Rows): ReadableStream<Uint8Array> {
  const found = Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator](), encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      let text = "";
      for (let count = 0; count < LINES; count++) {
        const { done, value } = await found.next();
        if (done) {
          if (text) controller.enqueue(encoder.encode(text));
          return controller.close();
        }
        text += `${JSON.stringify({ data: value })}\n`;
      }
      controller.enqueue(encoder.encode(text));
    },
    async cancel() {
      await found.return?.();
    },
  }, { highWaterMark: 0 });
}

/** The bytes of an export. A stream that is cut raises a TransportError at its end; it never looks like a shorter one. */
export async function exported(ask: Ask, path: string, options: { where?: object; format?: string } & CallOptions): Promise<ReadableStream<Uint8Array>> {
  const { where, format, ...rest } = options, condition = where && JSON.stringify(flatten(where));
  const body: ReadableStream<Uint8Array> = await ask("GET", path, { query: { where: condition, format }, stream: true }, rest);
  const reader = body.getReader();
  let last: number | undefined = NEWLINE;
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        // Some runtimes take a body that was cut for a whole one; each line of a whole one ends.
        if (done && last !== NEWLINE) throw null;
        last = value?.at(-1) ?? last;
        done ? controller.close() : controller.enqueue(value);
      } catch {
        const isAborted = rest.signal?.aborted;
        const message = isAborted ? "The call was aborted" : "The export ended before its last byte";
        controller.error(new TransportError({ code: isAborted ? "aborted" : "network", message }));
      }
    },
    cancel: () => reader.cancel(),
  }, { highWaterMark: 0 });
}
