/** The buttons that make a collection, for those who may. */
import { making } from "../app/collections.js";
import { html } from "../app/html.js";
import { allows } from "../app/session.js";
import { Icon } from "./icon.js";

/** @param {{ project: string }} given */
export function CollectionButtons({ project }) {
  if (!allows(project, "schema", "write")) return null;
  return html`${allows(project, "data", "write") && html`<button class="button" onClick=${() => { making.value = "import"; }}><${Icon} name="upload" />Import</button>`}
    <button class="button button-primary" onClick=${() => { making.value = "new"; }}><${Icon} name="plus" />New collection</button>`;
}
