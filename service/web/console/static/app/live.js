/** Streams of events. A hidden tab closes them: browsers open six connections to a host. */
import { useEffect, useRef, useState } from "preact/hooks";
import { pathOf } from "./collections.js";

/** @typedef {"requests" | "usage"} Topic */

/** @param {string} project @param {Topic} topic @param {boolean} isOn @param {(event: any) => void} on
 * @returns {boolean} True while the stream is open. */
export const useLive = (project, topic, isOn, on) => useStream(`${pathOf(project)}/live?topics=${topic}`, topic, isOn, on);

/** @param {string} path Below /admin/v1/. @param {string} name Of the events. @param {boolean} isOn @param {(event: any) => void} on
 * @returns {boolean} True while the stream is open. */
export function useStream(path, name, isOn, on) {
  const [isOpen, setOpen] = useState(false);
  const latest = useRef(on);
  latest.current = on;
  useEffect(() => {
    if (!isOn) return undefined;
    /** @type {EventSource | null} */
    let source = null;
    const stop = () => {
      source?.close();
      source = null;
      setOpen(false);
    };
    const follow = () => {
      stop();
      if (document.hidden) return;
      source = new EventSource(new URL(`../admin/v1/${path}`, document.baseURI));
      source.onopen = () => setOpen(true);
      source.onerror = () => setOpen(false);
      source.addEventListener(name, (event) => latest.current(JSON.parse(/** @type {MessageEvent<string>} */ (event).data)));
    };
    follow();
    document.addEventListener("visibilitychange", follow);
    return () => {
      document.removeEventListener("visibilitychange", follow);
      stop();
    };
  }, [path, name, isOn]);
  return isOpen;
}
