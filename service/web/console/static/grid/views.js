/** Saved views of a grid: its filter, order and columns under a name, for oneself or for all of the project. */
import { call } from "../app/api.js";
import { announce } from "../app/announcements.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { allows } from "../app/session.js";
import { useAction } from "../parts/action.js";
import { Dialog } from "../parts/dialog.js";
import { Alert, Check, Field, useForm } from "../parts/form.js";
import { Icon } from "../parts/icon.js";
import { Loaded } from "../parts/states.js";

/** @typedef {{ where: string, sort: string, columns: string }} State */

/** The state that a view keeps, as far as it is one: what else stands there is left out.
 * @param {any} state @returns {State} */
export const readView = (state) => ({ where: textOf(state?.where), sort: textOf(state?.sort) || "-created_at", columns: textOf(state?.columns) });

/** @param {unknown} value @returns {string} */
const textOf = (value) => (typeof value === "string" ? value : "");

/** @param {{ project: string, of: string, state: State, open: (state: State) => void, close: () => void }} given */
export function ViewsDialog({ project, of, state, open, close }) {
  const path = `${pathOf(project)}/views`;
  const loading = useLoading(async (signal) => (await call(path, { query: { kind: "grid", of }, signal })).views.filter((/** @type {any} */ each) => each.kind === "grid" && each.of === of), [path, of]);
  const { act, notice } = useAction(loading.reload);
  const mayShare = allows(project, "data", "write");
  const form = useForm({ name: "", shared: "false" }, async ({ name, shared }) => {
    await call(path, { method: "POST", body: { kind: "grid", of, name, state: { where: state.where, sort: state.sort, columns: state.columns }, shared: shared === "true" } });
    announce("Saved");
    form.set("name", "");
    loading.reload();
  });
  const show = (/** @type {any} */ view) => { open(readView(view.state)); close(); };
  return html`<${Dialog} title="Views" close=${close}><div class="dialog-body">${notice}<${Loaded} loading=${loading}>
      ${loading.data?.length === 0 && html`<p class="soft">None yet. A view keeps the filter, the order and the columns of this page.</p>`}
      ${loading.data?.map((/** @type {any} */ view) => html`<div class="row" key=${view.id}><button class="button button-quiet view-open" type="button" onClick=${() => show(view)}><${Icon} name="bookmark" /><span class="cut" dir="auto">${view.name}</span>${view.shared && html`<span class="badge">shared</span>`}</button>
        ${(view.own || mayShare) && html`<button class="button button-quiet button-icon push" type="button" aria-label=${`Delete the view ${view.name}`} onClick=${() => act(() => call(`${path}/${view.id}`, { method: "DELETE" }))}><${Icon} name="trash-2" /></button>`}</div>`)}<//></div>
    <form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} /><${Field} form=${form} name="name" label="Name" hint="Saves what the page shows now." />
      ${mayShare && html`<${Check} form=${form} name="shared" label="For all operators of the project" />`}</div>
      <div class="dialog-foot"><button class="button" type="button" onClick=${close}>Close</button><button class="button button-primary" aria-disabled=${form.isBusy}>Save view</button></div></form><//>`;
}
