/** Parts of the client that are loaded at their first use. */
import { TransportError } from "./errors.js";

/** Loads what `load` loads, once. Raises TransportError where it cannot be reached; the next call tries again. */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined;
  return () =>
    (loading ??= load().catch(() => {
      loading = undefined;
      throw new TransportError({ code: "network", message: "A part of the client did not load" });
    }));
}
