/** What stands beside a record: the records that refer to it, and what operators and keys did with it. */
import { call } from "../app/api.js";
import { pathOf, pathOfCollection, readCollections } from "../app/collections.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { link } from "../app/router.js";
import { number, Time } from "../app/texts.js";
import { queryName } from "../grid/columns.js";
import { Icon } from "./icon.js";
import { Loaded } from "./states.js";

/** @param {string} project @param {string} target @param {string} id @param {AbortSignal} signal */
async function countReferences(project, target, id, signal) {
  const fields = (await readCollections(project)).flatMap(({ name, schema }) => Object.entries(schema)
    .filter(([, { type, collection }]) => type === "reference" && collection === target).map(([field]) => ({ name, field, where: { [`${queryName(field)}_eq`]: id } })));
  return Promise.all(fields.map(async ({ name, field, where }) => {
    const body = { where, limit: 1, count: /** @type {const} */ ("capped"), fields: ["id"] };
    const { total, total_is } = await call(`${pathOfCollection(project, name)}/query`, { method: "POST", body, isRead: true, signal });
    return { name, field, where, count: total_is === "at_least" ? "10,000+" : number(total ?? 0) };
  }));
}

/** @param {{ project: string, collection: { name: string }, record: any }} given */
export function Related({ project, collection, record }) {
  const loading = useLoading((signal) => countReferences(project, collection.name, record.id, signal), [record.id]);
  return html`<${Loaded} loading=${loading}>
    ${loading.data?.length === 0 && html`<p class="soft">No field of a collection refers to ${collection.name}.</p>`}
    ${loading.data?.map(({ name, field, where, count }) => html`<a class="listing" key=${`${name} ${field}`} href=${link(["projects", project, "data", name], { where: JSON.stringify(where) })}>
      <${Icon} name="arrow-right" small /><span dir="auto">${name}</span><span class="faint">by ${field}</span><span class="push">${count}</span></a>`)}<//>`;
}

/** @param {{ project: string, id: string }} given */
export function History({ project, id }) {
  const loading = useLoading((signal) => call(`${pathOf(project)}/audit`, { query: { target: id, limit: 50 }, signal }), [id]);
  const entries = loading.data?.entries;
  return html`<${Loaded} loading=${loading}>
    ${entries?.length === 0 && html`<p class="soft">No operator has written it. What programs and users write is not listed here.</p>`}
    <ol class="timeline plain-list">${entries?.map((/** @type {any} */ entry) => html`<li key=${entry.id}><${Icon} name="history" small /><span><b dir="auto">${entry.actor?.name || entry.actor?.kind}</b> <code>${entry.action}</code>
      ${entry.changes?.length > 0 && html`<span class="faint" dir="auto"> ${entry.changes.map((/** @type {any} */ each) => each.path.at(-1)).join(", ")}</span>`}</span><${Time} at=${entry.at} /></li>`)}</ol><//>`;
}
