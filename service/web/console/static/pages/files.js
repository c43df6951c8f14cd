/** The files of a project, with their owners: by time, size or type; pictures in a preview. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { link, place, replace } from "../app/router.js";
import { Bar } from "../app/shell.js";
import { number, Time } from "../app/texts.js";
import { useAction } from "../parts/action.js";
import { Dialog } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { Empty, Loaded } from "../parts/states.js";

const PAGE = 50;
const ORDERS = { "-created_at": "Newest first", created_at: "Oldest first", "-bytes": "Largest first", bytes: "Smallest first" };
const TYPES = { "": "All types", image: "Pictures", "application/pdf": "PDF" };

/** @param {{ project: string }} given */
export default function Files({ project }) {
  const { query } = place.value;
  const state = { type: query.get("type") ?? "", sort: query.get("sort") ?? "-created_at", owner: query.get("owner") ?? "" };
  const [shown, show] = useState(/** @type {any} */ (null));
  const [more, setMore] = useState(/** @type {{ files: any[], next: string | null } | null} */ (null));
  const read = (/** @type {string} */ cursor, /** @type {AbortSignal | undefined} */ signal) =>
    call(`${pathOf(project)}/files`, { query: { type: state.type, owner: state.owner, sort_by: state.sort, limit: PAGE, cursor }, signal });
  const loading = useLoading(async (signal) => {
    setMore(null);
    return read("", signal);
  }, [project, state.type, state.sort, state.owner]);
  const { act, notice } = useAction(() => undefined);
  const files = [...(loading.data?.files ?? []), ...(more?.files ?? [])];
  const next = more ? more.next : loading.data?.next;
  const goOn = () => act(async () => {
    const found = await read(next ?? "", undefined);
    setMore({ files: [...(more?.files ?? []), ...found.files], next: found.next });
  });
  const set = (/** @type {Partial<typeof state>} */ part) => replace(link(["projects", project, "files"], { ...state, ...part }));
  const chosen = (/** @type {Event} */ event) => /** @type {HTMLSelectElement} */ (event.currentTarget).value;
  const select = (/** @type {string} */ label, /** @type {Record<string, string>} */ choices, /** @type {string} */ value, /** @type {(value: string) => void} */ choose) => html`<select class="input input-small sort-select" aria-label=${label} onChange=${(/** @type {Event} */ event) => choose(chosen(event))}>
    ${Object.entries(choices).map(([each, text]) => html`<option key=${each} value=${each} selected=${each === value}>${text}</option>`)}</select>`;
  return html`<main class="main"><${Bar} title="Files" count=${loading.data ? `${number(files.length)}${next ? "+" : ""}` : ""} />
    <div class="bar toolbar" role="toolbar" aria-label="Type, order">${select("Type", TYPES, state.type, (type) => set({ type }))}${select("Order", ORDERS, state.sort, (sort) => set({ sort }))}
      ${state.owner && html`<span class="chip is-on"><b>owner</b><code class="id">${state.owner.slice(-6)}</code><button class="chip-close" aria-label="Remove the filter of owner" onClick=${() => set({ owner: "" })}><${Icon} name="x" small /></button></span>`}</div>
    <div class="page"><div class="page-inner">${notice}<${Loaded} loading=${loading}>
      ${loading.data && !files.length && html`<${Empty} icon="files" title=${state.type || state.owner ? "Nothing matches" : "No files yet"}><p>Files of users and of documents stand here.</p>
        ${(state.type || state.owner) && html`<button class="button" onClick=${() => set({ type: "", owner: "" })}>Clear the filter</button>`}<//>`}
      ${files.length > 0 && html`<div class="table-box"><table class="table table-rows"><thead><tr><th>File</th><th class="wide">Type</th><th class="number">Bytes</th><th>Owner</th><th class="wide">Sent</th></tr></thead>
        <tbody>${files.map((file) => html`<${FileRow} key=${file.name} project=${project} file=${file} show=${() => show(file)} />`)}</tbody></table></div>`}
      ${next && html`<p class="more"><button class="button" onClick=${goOn}>Show more</button></p>`}<//></div></div>
    ${shown && html`<${Dialog} title="Preview" close=${() => show(null)} size="wide"><div class="dialog-body"><img class="file-shown" src=${shown.url} alt=${`The file ${shown.name}`} /><p class="small faint"><bdi>${shown.name}</bdi></p></div>
      <div class="dialog-foot"><button class="button" onClick=${() => show(null)}>Close</button></div><//>`}
  </main>`;
}

/** @param {{ project: string, file: any, show: () => void }} given */
function FileRow({ project, file, show }) {
  const { owner } = file;
  const target = !owner ? "" : owner.collection === "users" ? link(["projects", project, "users", owner.id]) : link(["projects", project, "data", owner.collection], { record: owner.id });
  const isPicture = file.type.startsWith("image/");
  return html`<tr><td class="fill">${isPicture ? html`<button class="link-button cut" onClick=${show} dir="auto">${file.original_name || file.name}</button>` : html`<span class="cut" dir="auto">${file.original_name || file.name}</span>`}</td>
    <td class="wide soft">${file.type}</td><td class="number">${number(file.bytes)}</td>
    <td>${owner ? html`<a href=${target} dir="auto">${owner.collection}</a> <span class="faint" dir="auto">${owner.field}</span>` : html`<span class="faint">none</span>`}</td><td class="wide"><${Time} at=${file.created_at} /></td></tr>`;
}
