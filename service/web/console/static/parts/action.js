/** A single action of a page, such as a button in a list: its error stands on the page. */
import { useState } from "preact/hooks";
import { html } from "../app/html.js";
import { Icon } from "./icon.js";

/** @param {() => void} done Called after a success.
 * @returns {{ act: (send: () => Promise<unknown>) => Promise<void>, notice: unknown }} */
export function useAction(done) {
  const [failure, fail] = useState("");
  const act = async (/** @type {() => Promise<unknown>} */ send) => {
    fail("");
    try {
      await send();
      done();
    } catch (error) {
      fail(error instanceof Error ? error.message : String(error));
    }
  };
  return { act, notice: failure && html`<p class="banner banner-bad" role="alert"><${Icon} name="circle-alert" />${failure}</p>` };
}
