/** A component whose file is loaded when it is first shown. */
import { useEffect, useState } from "preact/hooks";
import { h } from "../app/html.js";

/** @template {string} Name @param {() => Promise<Record<Name, any>>} load @param {Name} name @returns {(given: any) => any} */
export function later(load, name) {
  /** @type {any} */
  let found = null;
  return function Later(given) {
    const [, show] = useState(false);
    useEffect(() => {
      if (found) return;
      load().then((module) => {
        found = module[name];
        show(true);
      }, () => location.reload());
    }, []);
    return found ? h(found, given) : null;
  };
}
