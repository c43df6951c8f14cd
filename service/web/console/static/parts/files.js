/** The files of a field: what is stored, with pictures, and what is dropped or chosen to be sent. */
import { html } from "../app/html.js";
import { number } from "../app/texts.js";
import { fileName, thumbnail } from "../grid/columns.js";
import { parseJson } from "./editor.js";
import { Icon } from "./icon.js";

/** @param {string} typed @param {boolean} isList @returns {string[]} */
export function readUrls(typed, isList) {
  if (!typed) return [];
  return isList ? (parseJson(typed).value ?? []) : [typed];
}

/** @param {{ id: string, definition: import("../app/collections.js").Definition, typed: string, files: File[], readonly: boolean,
 *   change: (text: string) => void, attach: (files: File[]) => void }} given */
export function FileInput({ id, definition, typed, files, readonly, change, attach }) {
  const isList = definition.type === "array";
  const urls = readUrls(typed, isList);
  const remove = (/** @type {string} */ url) => change(isList ? JSON.stringify(urls.filter((each) => each !== url)) : "");
  const take = (/** @type {FileList | null | undefined} */ list) => attach(isList ? [...files, ...(list ?? [])] : [...(list ?? [])].slice(0, 1));
  const drop = (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    if (!readonly) take(event.dataTransfer?.files);
  };
  return html`<div class="stack-small" onDragOver=${(/** @type {Event} */ event) => event.preventDefault()} onDrop=${drop}>
    ${urls.map((url) => html`<${Stored} key=${url} url=${url} definition=${isList ? definition.items : definition} remove=${readonly ? null : () => remove(url)} />`)}
    ${files.map((file) => html`<div class="file" key=${file.name}><span class="file-picture"><${Icon} name="file-up" /></span>
      <div class="file-name"><div class="cut" dir="auto">${file.name}</div><span class="faint">${number(file.size)} bytes, sent with Save</span></div>
      <button class="button button-quiet button-icon button-small push" type="button" aria-label=${`Do not send ${file.name}`} onClick=${() => attach(files.filter((each) => each !== file))}><${Icon} name="x" small /></button></div>`)}
    ${!readonly && html`<label class="drop"><${Icon} name="upload" small />Drop ${isList ? "files" : "a file"}, or <span class="drop-choose">choose</span>
      <input class="unseen" id=${id} type="file" multiple=${isList} onChange=${(/** @type {Event} */ event) => take(/** @type {HTMLInputElement} */ (event.currentTarget).files)} /></label>`}
  </div>`;
}

/** @param {{ url: string, definition: any, remove: (() => void) | null }} given */
function Stored({ url, definition, remove }) {
  const picture = thumbnail(url, definition);
  const name = fileName(url);
  return html`<div class="file"><span class="file-picture">${picture ? html`<img src=${picture} alt="" loading="lazy" />` : html`<${Icon} name="file-text" />`}</span>
    <a class="file-name cut" href=${/^https?:/.test(url) ? url : null} target="_blank" rel="noreferrer" dir="auto">${name}</a>
    ${remove && html`<button class="button button-quiet button-icon button-small push" type="button" aria-label=${`Remove ${name}`} onClick=${remove}><${Icon} name="x" small /></button>`}</div>`;
}
