/** The backups of a project, or of all projects for owners, and the jobs that make, verify, restore and copy. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { usePages } from "../app/pages-of.js";
import { go, link, place, replace } from "../app/router.js";
import { allows } from "../app/session.js";
import { Bar } from "../app/shell.js";
import { bytes, number, Time } from "../app/texts.js";
import { useAction } from "../parts/action.js";
import { Backup } from "../parts/backup.js";
import { NewBackup, NewCopy } from "../parts/backup-dialogs.js";
import { Icon } from "../parts/icon.js";
import { isUnderWay, Jobs, useRepeats } from "../parts/jobs.js";
import { Empty, Loaded } from "../parts/states.js";

/** @type {Record<string, string>} */
const TONES = { done: "badge-good", failed: "badge-bad" };

/** @param {{ project: string }} given `project` is empty for the page of the deployment. */
export default function Backups({ project }) {
  const base = project ? `${pathOf(project)}/` : "";
  const here = project ? ["projects", project, "backups"] : ["backups"];
  const [opened, open] = useState("");
  const backups = usePages(`${base}backups`, { limit: 50 }, "backups");
  const jobs = usePages(`${base}jobs`, { limit: 10 }, "jobs");
  const reload = () => {
    jobs.loading.reload();
    backups.loading.reload();
  };
  useRepeats(reload, jobs.rows.some(isUnderWay));
  const { act, notice } = useAction(reload);
  const mayWrite = allows(project || "*", project ? "config" : "deployment", "write");
  const chosen = backups.rows.find(({ id }) => id === place.value.query.get("backup"));
  const close = () => open("");
  return html`<main class="main"><${Bar} title="Backups" count=${backups.loading.data ? `${number(backups.rows.length)}${backups.next ? "+" : ""}` : ""}>
      ${project && allows("*", "deployment", "write") && html`<button class="button" aria-label="Copy the project" onClick=${() => open("copy")}><${Icon} name="copy" /><span class="wide">Copy the project</span></button>`}
      ${project && mayWrite && html`<button class="button button-primary" onClick=${() => open("new")}><${Icon} name="archive" />Back up now</button>`}<//>
    <div class="split"><div class="scroll" tabindex="0" role="region" aria-label="Backups and jobs"><div class="pad stack">${notice}
      <${Loaded} loading=${jobs.loading}><${Jobs} jobs=${jobs.rows} path=${`${base}jobs`} mayCancel=${mayWrite} act=${act} /><//>
      <${Loaded} loading=${backups.loading}>
        ${backups.loading.data && !backups.rows.length && html`<${Empty} icon="archive" title="No backups yet"><p>A backup has the records, files, users, rules and settings of one moment.</p>
          ${project && mayWrite && html`<button class="button" onClick=${() => open("new")}>Back up now</button><pre class="code"><code>auth-collections backup take ${project}</code></pre>`}<//>`}
        ${backups.rows.length > 0 && html`<div class="table-box"><table class="table table-rows"><thead><tr><th>Made</th>${!project && html`<th>Project</th>`}<th>State</th><th class="number">Size</th><th class="number wide">Documents</th><th class="number wide">Files</th><th class="wide">Verified</th><th class="wide">Note</th></tr></thead>
          <tbody>${backups.rows.map((each) => html`<${Row} key=${each.id} backup=${each} isChosen=${each === chosen} isOfAll=${!project} target=${link(here, { backup: each.id })} />`)}</tbody></table></div>`}
        ${backups.next && html`<p class="more"><button class="button" onClick=${() => act(backups.more)}>Show more</button></p>`}<//></div></div>
      ${chosen && html`<${Backup} key=${chosen.id} backup=${chosen} isOfAll=${!project} reload=${reload} close=${() => replace(link(here))} />`}</div>
    ${opened === "new" && html`<${NewBackup} project=${project} close=${close} done=${reload} />`}
    ${opened === "copy" && html`<${NewCopy} project=${project} close=${close} done=${reload} />`}
  </main>`;
}

/** @param {{ backup: any, isChosen: boolean, isOfAll: boolean, target: string }} given */
function Row({ backup, isChosen, isOfAll, target }) {
  const amount = (/** @type {number | null} */ value, /** @type {(value: number) => string} */ write) => (value === null ? html`<span class="faint">–</span>` : write(value));
  return html`<tr aria-selected=${isChosen ? "true" : null} onClick=${() => go(target)}><td><a href=${target} onClick=${(/** @type {Event} */ event) => event.stopPropagation()}><${Time} at=${backup.created_at} /></a> ${backup.pinned && html`<${Icon} name="pin" small /><span class="unseen">pinned</span>`}</td>
    ${isOfAll && html`<td dir="auto">${backup.project_id}</td>`}
    <td><span class=${`badge ${TONES[backup.state] ?? ""}`}>${backup.state}</span></td><td class="number">${amount(backup.bytes, bytes)}</td><td class="number wide">${amount(backup.documents, number)}</td><td class="number wide">${amount(backup.files, number)}</td>
    <td class="wide"><${Time} at=${backup.verified_at} day /></td><td class="wide fill" dir="auto">${backup.note}</td></tr>`;
}
