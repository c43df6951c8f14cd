/** Loads what a page shows, with a deadline and with retries of what may pass. */
import { useEffect, useReducer, useRef } from "preact/hooks";
import { ApiError } from "./api.js";

const SKELETON_MS = 150;
const STILL_MS = 5_000;
const LONGEST_RETRY_S = 30;

/** @template T
 * @typedef {{ data: T | undefined, error: Error | null, waits: "" | "loading" | "skeleton" | "still", retryAt: number,
 *   reload: () => void, cancel: () => void }} Loading */

/** @template T
 * @param {(signal: AbortSignal) => Promise<T>} load @param {unknown[]} causes What loads again when it changes.
 * @returns {Loading<T>} The data before stays while more is loaded. */
export function useLoading(load, causes) {
  const held = useRef(/** @type {Loading<T> & { tries: number }} */ ({ waits: "loading", tries: 0, retryAt: 0, error: null }));
  const [turn, again] = useReducer((/** @type {number} */ count) => count + 1, 0);
  const [, show] = useReducer((/** @type {number} */ count) => count + 1, 0);
  const state = held.current;
  useEffect(() => {
    const aborter = new AbortController();
    const update = (/** @type {Partial<Loading<T>> & { tries?: number }} */ change) => {
      Object.assign(state, change);
      show(0);
    };
    const timers = [
      setTimeout(() => update({ waits: "skeleton" }), SKELETON_MS),
      setTimeout(() => update({ waits: "still" }), STILL_MS),
    ];
    const stop = () => timers.forEach(clearTimeout);
    state.reload = () => again(0);
    state.cancel = () => aborter.abort();
    update({ waits: "loading" });
    load(aborter.signal).then(
      (data) => {
        stop();
        if (!aborter.signal.aborted) update({ data, error: null, waits: "", tries: 0, retryAt: 0 });
      },
      (error) => {
        stop();
        if (state.cancel === cancel) update({ error: aborter.signal.aborted ? new Error("Cancelled.") : error, waits: "" });
        if (error instanceof ApiError && error.isPassing && !aborter.signal.aborted) retry(error);
      },
    );
    const cancel = state.cancel;
    /** @param {ApiError} error */
    function retry(error) {
      const seconds = Math.min(Math.max(error.retryAfter, 2 ** state.tries), LONGEST_RETRY_S);
      update({ tries: state.tries + 1, retryAt: Date.now() + seconds * 1000 });
      timers.push(setTimeout(() => again(0), seconds * 1000));
    }
    return () => {
      stop();
      state.cancel = () => undefined;
      aborter.abort();
    };
  }, [...causes, turn]);
  return state;
}
