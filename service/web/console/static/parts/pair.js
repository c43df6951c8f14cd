/** A page of a collection with its tabs, a column that is edited, a panel that answers, and what is pending at its foot. */
import { html } from "../app/html.js";
import { useCollections } from "../app/collections.js";
import { link } from "../app/router.js";
import { Bar } from "../app/shell.js";
import { CollectionTabs } from "../grid/toolbar.js";
import { Empty, Loaded } from "./states.js";

/** @typedef {import("../app/collections.js").Collection} Collection */

/** The frame of a page of one collection, once it is there.
 * @param {{ project: string, name: string, current: string, show: (collection: Collection, all: Collection[]) => unknown }} given */
export function OfCollection({ project, name, current, show }) {
  const loading = useCollections(project);
  const collection = loading.data?.find((each) => each.name === name);
  if (collection && loading.data) return show(collection, loading.data);
  const tabs = html`<${CollectionTabs} project=${project} collection=${name} current=${current} />`;
  return html`<main class="main"><${Bar} title=${name} tabs=${loading.data ? null : tabs} /><div class="page">
    ${loading.data ? html`<${Empty} icon="circle-help" title="There is no such collection"><p>It was deleted, or it has another name.</p>
      <a class="button" href=${link(["projects", project, "data"])}>All collections</a><//>` : html`<${Loaded} loading=${loading} />`}</div></main>`;
}
