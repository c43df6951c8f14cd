/** The documents of a collection: the grid, the filter that stands in the address, and the record beside it. */
import { useRef, useState } from "preact/hooks";
import { call } from "../app/api.js";
import { lastOpened, pathOfCollection, useCollections } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { go, link, place } from "../app/router.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { number } from "../app/texts.js";
import { columnsOf, filterFields, labelField, queryName, relationOf } from "../grid/columns.js";
import { readTyped } from "../grid/editing.js";
import { FilterChips } from "../grid/filter.js";
import { Grid } from "../grid/grid.js";
import { isTooLong, readWhere, writeWhere } from "../grid/query.js";
import { Moved, useLiveRows } from "../grid/live.js";
import { CollectionTabs, SortSelect } from "../grid/toolbar.js";
import { useRows } from "../grid/use-rows.js";
import { Question } from "../parts/dialog.js";
import { Icon } from "../parts/icon.js";
import { later } from "../parts/later.js";
import { Empty, Loaded } from "../parts/states.js";

const BulkDelete = later(() => import("../grid/bulk.js"), "BulkDelete");
const BulkEdit = later(() => import("../grid/bulk.js"), "BulkEdit");
const ExportDialog = later(() => import("../grid/export.js"), "ExportDialog");
const ColumnsDialog = later(() => import("../grid/toolbar-dialogs.js"), "ColumnsDialog");
const CopyAs = later(() => import("../grid/toolbar-dialogs.js"), "CopyAs");
const ImportDialog = later(() => import("../parts/import.js"), "ImportDialog");
const MakeLive = later(() => import("../grid/toolbar-dialogs.js"), "MakeLive");
const Record = later(() => import("../parts/record.js"), "Record");
const ViewsDialog = later(() => import("../grid/views.js"), "ViewsDialog");
const COLUMNS = 10;
const POPULATED = 5;

/** @typedef {import("../app/collections.js").Collection} Collection */

/** @param {{ project: string, parts: { collection?: string } }} given */
export default function Documents({ project, parts }) {
  const name = parts.collection ?? "";
  const loading = useCollections(project);
  const collection = loading.data?.find((each) => each.name === name);
  if (loading.data && !collection)
    return html`<main class="main"><${Bar} title=${name} /><div class="page"><${Empty} icon="circle-help" title="There is no such collection">
      <p>It was deleted, or renamed.</p><a class="button" href=${link(["projects", project, "data"])}>All collections</a><//></div></main>`;
  if (!collection || !loading.data) return html`<main class="main"><${Bar} title=${name} tabs=${html`<${CollectionTabs} project=${project} collection=${name} current="" />`} /><div class="page"><${Loaded} loading=${loading} /></div></main>`;
  return html`<${Table} key=${name} project=${project} collection=${collection} all=${loading.data} />`;
}

/** The state in the address. @param {string} project @param {Collection} collection */
function readState(project, collection) {
  const { query } = place.value;
  const { where, isBad } = readWhere(query.get("where") ?? "");
  const state = { where: query.get("where") ?? "", sort: query.get("sort") ?? "-created_at", columns: query.get("columns") ?? "", record: query.get("record") ?? "" };
  const write = (/** @type {Partial<typeof state>} */ change) => {
    const next = { ...state, ...change };
    return link(["projects", project, "data", collection.name], { ...next, sort: next.sort === "-created_at" ? "" : next.sort });
  };
  return { state, where, isBad, write };
}

/** @param {import("../grid/columns.js").Column[]} shown @param {Collection[]} all What is asked of each document, beside its id and times. */
function fieldsOf(shown, all) {
  const relations = shown.filter(({ kind }) => kind === "reference").slice(0, POPULATED).map((column) => {
    const target = column.definition?.collection ?? "";
    const label = target === "users" ? "name" : labelField(all.find((each) => each.name === target));
    return { name: relationOf(column.field), label };
  });
  const fields = [...shown.filter(({ field }) => field).map(({ field }) => queryName(field)), ...relations.filter(({ label }) => label).map(({ name, label }) => `${name}.${label}`)];
  return { fields: fields.length ? fields : ["id"], ...(relations.length ? { populate: relations.map(({ name }) => name) } : {}) };
}

/** @param {{ project: string, collection: Collection, all: Collection[] }} given */
function Table({ project, collection, all }) {
  const path = pathOfCollection(project, collection.name);
  Object.assign(lastOpened, { project, name: collection.name });
  const { state, where, isBad, write } = readState(project, collection);
  const [selected, select] = useState(/** @type {Map<string, any>} */ (new Map()));
  const [opened, open] = useState("");
  const [pending, ask] = useState("");
  const guard = useRef(/** @type {(() => boolean) | null} */ (null));
  const locate = (/** @type {string} */ target, /** @type {string} */ id) =>
    target === "users" ? link(["projects", project, "users", id]) : link(["projects", project, "data", target], { record: id });
  const columns = columnsOf(collection, all, locate);
  const names = state.columns ? state.columns.split(",") : [];
  const chosen = names.length ? columns.filter(({ path: each }) => names.includes(each)) : columns.slice(0, Math.min(COLUMNS, Math.max(columns.length - 3, 3)));
  const shown = chosen.length ? chosen : columns.slice(0, 1);
  const query = { where, sort_by: [state.sort], count: "none", ...fieldsOf(shown, all) };
  const { loading, rows, turn, one } = useRows(`${path}/query`, "documents", query, []);
  const counting = useCount(path, where);
  const mayWrite = allows(project, "data", "write");
  const [isLive, follow] = useState(false);

  const visit = (/** @type {string} */ target) => {
    if (guard.current?.()) ask(target);
    else go(target);
  };
  const show = (/** @type {string} */ record) => visit(write({ record }));
  const again = () => { select(new Map()); loading.reload(); counting.loading.reload(); };
  const save = async (/** @type {any} */ row, /** @type {import("../grid/columns.js").Column} */ column, /** @type {string} */ text) => {
    const value = readTyped(text, column.definition);
    const body = value === undefined ? { unset: [column.field] } : { data: { [column.field]: value } };
    await call(`${path}/documents/${row.id}`, { method: "PATCH", body, headers: { "if-match": `"v${row.version}"` } }).catch((error) => {
      if (error.status !== 412) throw error.faults?.[0] ? new Error(error.faults[0].msg) : error;
      show(row.id);
      throw new Error("It was changed meanwhile. The record shows how it stands; edit it there.");
    });
    const stored = await one(row.id);
    if (stored) rows?.put(stored);
  };
  const order = (/** @type {string} */ column) => go(write({ sort: state.sort === column ? `-${column}` : column }));
  const live = useLiveRows({ path, where, isOn: isLive && collection.realtime, rows, one, reload: () => { loading.reload(); counting.loading.reload(); } });
  const toggleLive = () => (collection.realtime ? follow(!isLive) : open("live"));
  const ids = [...selected.keys()];
  const newButton = mayWrite && html`<button class="button button-primary" onClick=${() => show("new")}><${Icon} name="plus" />New record</button>`;
  const target = write({});
  return html`<main class="main">
    <${Bar} title=${collection.name} count=${counting.text} tabs=${html`<${CollectionTabs} project=${project} collection=${collection.name} current="" />`}>
      ${counting.more && html`<button class="button button-quiet wide" onClick=${counting.more}>Count all</button>`}
      ${live.mayFollow && (collection.realtime || allows(project, "schema", "write")) && html`<${Moved} live=${live} /><button class="button button-quiet wide" aria-pressed=${isLive && collection.realtime} onClick=${toggleLive}><span class=${`dot ${live.isOpen ? "dot-live good" : ""}`} />Live</button>`}
      ${mayWrite && html`<button class="button button-quiet wide" onClick=${() => open("import")}><${Icon} name="upload" />Import</button>`}
      <button class="button button-quiet wide" onClick=${() => open("export")}><${Icon} name="download" />Export</button>${newButton}<//>
    <div class="bar toolbar" role="toolbar" aria-label="Filter, sort, columns"><button class="button button-quiet button-small" onClick=${() => open("views")}><${Icon} name="bookmark" />Views</button>
      <${FilterChips} where=${where} fields=${filterFields(columns, all)} change=${(/** @type {object} */ next) => visit(write({ where: writeWhere(next) }))} />
      <div class="row push"><${SortSelect} columns=${columns} sort=${state.sort} change=${(/** @type {string} */ sort) => go(write({ sort }))} />
        <button class="button button-quiet button-small" onClick=${() => open("columns")}><${Icon} name="columns-3" />${shown.length} of ${columns.length}</button>
        <button class="button button-quiet button-small wide" onClick=${() => open("copy")}><${Icon} name="code-xml" />Copy as</button></div></div>
    ${isBad && html`<p class="banner banner-warn" role="alert"><${Icon} name="triangle-alert" />The filter of this address cannot be read. All documents are shown.</p>`}
    ${isTooLong(target) && html`<p class="banner banner-warn" role="status"><${Icon} name="triangle-alert" />This filter is too long for a link.</p>`}
    <div class="split"><div class="grid-side">
      ${rows && rows.known > 0 && html`${loading.error && html`<${Loaded} loading=${loading}><//>`}<${Grid} key=${JSON.stringify(query)} label=${collection.name} columns=${shown} rows=${rows} turn=${turn} sort=${state.sort} order=${order}
        opened=${state.record} open=${(/** @type {any} */ row) => row && show(row.id)} selected=${selected} select=${select} save=${mayWrite ? save : null} remove=${mayWrite ? () => open("delete") : null} />`}
      ${!(rows && rows.known > 0) && html`<div class="page"><${Loaded} loading=${loading}>${rows && html`<${Nothing} project=${project} name=${collection.name} isFiltered=${state.where !== ""}
        clear=${() => go(write({ where: "" }))} button=${newButton} />`}<//></div>`}
      ${rows && rows.known > 0 && html`<footer class="bar-foot">
        ${ids.length > 0 ? html`<b>${number(ids.length)} selected</b>${mayWrite && html`<button class="link-button" onClick=${() => open("edit")}>Edit</button><button class="link-button" onClick=${() => open("delete")}>Delete</button>`}
          <button class="link-button" onClick=${() => select(new Map())}>Clear</button>` : html`<span>${rows.next ? `${number(rows.known)} loaded` : `${number(rows.known)} ${rows.known === 1 ? "document" : "documents"}`}</span>`}
        ${rows.error && html`<span class="bad" role="alert">${rows.error.message} <button class="link-button" onClick=${() => rows.retry()}>Try again</button></span>`}
        ${mayWrite && !ids.length && state.where && html`<span class="push row"><button class="link-button" onClick=${() => open("edit")}>Edit all that match</button><button class="link-button" onClick=${() => open("delete")}>Delete all that match</button></span>`}
      </footer>`}</div>
      ${state.record && html`<${Record} key=${state.record} project=${project} collection=${collection} id=${state.record === "new" ? "" : state.record} guard=${guard} close=${() => go(write({ record: "" }))}
        saved=${async (/** @type {any} */ stored) => { if (state.record === "new") { again(); go(write({ record: stored.id })); } else rows?.put((await one(stored.id)) ?? stored); }}
        deleted=${() => { go(write({ record: "" })); again(); }} />`}
    </div>
    ${opened === "live" && html`<${MakeLive} project=${project} name=${collection.name} close=${() => open("")} done=${() => follow(true)} />`}
    ${opened === "columns" && html`<${ColumnsDialog} columns=${columns} shown=${shown} close=${() => open("")} change=${(/** @type {string} */ next) => go(write({ columns: next }))} />`}
    ${opened === "views" && html`<${ViewsDialog} project=${project} of=${collection.name} state=${state} close=${() => open("")} open=${(/** @type {Partial<typeof state>} */ next) => visit(write(next))} />`}
    ${opened === "copy" && html`<${CopyAs} collection=${collection.name} where=${where} sort=${state.sort} close=${() => open("")} />`}
    ${opened === "export" && html`<${ExportDialog} path=${path} name=${collection.name} where=${state.where} close=${() => open("")} />`}
    ${opened === "import" && html`<${ImportDialog} project=${project} collection=${collection} close=${() => open("")} done=${again} />`}
    ${opened === "delete" && html`<${BulkDelete} path=${path} where=${where} ids=${ids} close=${() => open("")} done=${again} />`}
    ${opened === "edit" && html`<${BulkEdit} path=${path} where=${where} ids=${ids} columns=${columns} close=${() => open("")} done=${again} />`}
    ${pending && html`<${Question} title="Leave the changes?" action="Discard" close=${() => ask("")} act=${() => go(pending)}><p>The record has changes that are not saved.</p><//>`}
  </main>`;
}

/** How many match; nothing waits for it. @param {string} path @param {object} where */
function useCount(path, where) {
  const [isExact, exact] = useState(false);
  const loading = useLoading((signal) => call(`${path}/query`, { method: "POST", isRead: true, signal,
    body: { where, limit: 1, fields: ["id"], count: isExact ? "exact" : Object.keys(where).length ? "capped" : "estimated" } }), [path, JSON.stringify(where), isExact]);
  const found = loading.data;
  if (!found) return { text: "", more: null, loading };
  const isMore = found.total_is === "at_least";
  return { text: isMore ? "10,000+" : number(found.total), more: isMore && !isExact ? () => exact(true) : null, loading };
}

/** @param {{ project: string, name: string, isFiltered: boolean, clear: () => void, button: unknown }} given */
function Nothing({ project, name, isFiltered, clear, button }) {
  if (isFiltered) return html`<${Empty} icon="search" title="Nothing matches"><p>No document satisfies the filter.</p><button class="button" onClick=${clear}>Clear the filter</button><//>`;
  const curl = `curl -X POST "$URL/admin/v1/${pathOfCollection(project, name)}/documents" \\\n  -H "Authorization: Bearer $TOKEN" \\\n  -H "Content-Type: application/json" -d '{"data": {}}'`;
  return html`<${Empty} icon="database" title="No documents yet"><p>Documents of ${name} stand here.</p>${button}${button && html`<pre class="code" tabindex="0" role="group" aria-label="The same as a command">${curl}</pre>`}<//>`;
}
