/** The settings of a project, from their JSON Schema and nothing else. */
import { html } from "../app/html.js";
import { link, place, replace } from "../app/router.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { Icon } from "../parts/icon.js";
import { SaveBar, SettingList } from "../parts/setting-list.js";
import { useSettings } from "../parts/settings.js";
import { Empty, Loaded } from "../parts/states.js";

/** @param {{ project: string, parts: Record<string, string> }} given */
export default function Settings({ project, parts }) {
  const settings = useSettings(project);
  const { forms, draft } = settings;
  const q = place.value.query.get("q") ?? "";
  const path = ["projects", project, "settings"];
  const groups = [...new Set(Object.values(forms).map((form) => form["x-group"] ?? ""))];
  const names = Object.keys(forms).filter((name) => (q ? matches(name, forms[name], q) : !parts.group || forms[name]?.["x-group"] === parts.group));
  const search = (/** @type {InputEvent} */ event) => replace(link(path, { q: /** @type {HTMLInputElement} */ (event.currentTarget).value }));
  const isEdited = (/** @type {string} */ group) => Object.keys(draft.edits).some((name) => forms[name]?.["x-group"] === group);
  return html`<main class="main"><${Bar} title="Settings"><label class="filter"><${Icon} name="search" small /><input class="input input-small" data-filter value=${q}
      placeholder=${`Search ${Object.keys(forms).length || ""} settings`} aria-label="Search settings" maxlength="100" onInput=${search} /></label><//>
    <div class="split"><nav class="groups" aria-label="Groups of settings">
        <a class="sidebar-link" href=${link(path)} aria-current=${!parts.group && !q ? "page" : null}>All</a>
        ${groups.map((group) => html`<a key=${group} class="sidebar-link" href=${link([...path, group])} aria-current=${group === parts.group && !q ? "page" : null}>${group}
          ${isEdited(group) && html`<span class="sidebar-link-count"><span class="dot accent-dot" /><span class="unseen">changed</span></span>`}</a>`)}</nav>
      <div class="page" tabindex="-1"><${Loaded} loading=${settings.loading}>
        ${names.length ? html`<${SettingList} settings=${settings} names=${names} mayWrite=${allows(project, "config", "write")} />`
          : html`<${Empty} icon="search" title=${q ? "Nothing matches" : "There is no such group"}><p>${q ? "No setting has this text in its name or description." : ""}</p><a class="button" href=${link(path)}>All settings</a><//>`}
      <//></div></div>
    <${SaveBar} settings=${settings} />
  </main>`;
}

/** @param {string} name @param {import("../parts/control.js").Schema | undefined} form @param {string} q @returns {boolean} */
const matches = (name, form, q) => `${name} ${form?.title} ${form?.description}`.toLowerCase().includes(q.toLowerCase());
