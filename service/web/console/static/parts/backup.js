/** One backup beside the list: its facts, and what can be done with it. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { allows } from "../app/session.js";
import { bytes, number, Time } from "../app/texts.js";
import { useAction } from "./action.js";
import { Note, Restore } from "./backup-dialogs.js";
import { Question } from "./dialog.js";
import { Icon } from "./icon.js";
import { Panel } from "./panel.js";

const BASE = new URL("../admin/v1/", document.baseURI);

/** @param {{ backup: any, isOfAll: boolean, reload: () => void, close: () => void }} given */
export function Backup({ backup, isOfAll, reload, close }) {
  const [opened, open] = useState("");
  const { act, notice } = useAction(reload);
  const path = `${pathOf(backup.project_id)}/backups/${backup.id}`;
  const mayWrite = !isOfAll && allows(backup.project_id, "config", "write");
  const isDone = backup.state === "done";
  const leave = () => open("");
  const change = (/** @type {any} */ body) => act(() => call(path, { method: "PATCH", body }));
  // The file needs a confirmed session; a change of nothing asks for it, and a link could not.
  const download = () => act(async () => {
    await call(path, { method: "PATCH", body: {} });
    const anchor = document.createElement("a");
    anchor.href = new URL(`${path}/file`, BASE).href;
    anchor.download = "";
    anchor.click();
  });
  const button = (/** @type {string} */ icon, /** @type {string} */ text, /** @type {() => void} */ press) => html`<button class="button" onClick=${press}><${Icon} name=${icon} />${text}</button>`;
  return html`<${Panel} title="Backup" close=${close}><div class="panel-body stack">${notice}
      ${backup.state === "failed" && html`<p class="banner banner-bad" role="alert"><${Icon} name="circle-alert" />It failed. The job says why.</p>`}
      <dl class="facts"><dt>Project</dt><dd dir="auto">${backup.project_id}</dd><dt>Moment</dt><dd><${Time} at=${backup.at} never="not yet" /></dd><dt>Made by</dt><dd dir="auto">${backup.scheduled ? "a schedule" : (backup.by.name ?? backup.by.kind)}</dd>
        ${isDone && html`<dt>Size</dt><dd>${bytes(backup.bytes)}, ${number(backup.documents)} documents, ${number(backup.files)} files</dd><dt>SHA-256</dt><dd><code>${backup.sha256}</code></dd><dt>Encrypted</dt><dd>${backup.encrypted ? "yes" : "no"}</dd><dt>Version</dt><dd>${backup.service_version}</dd>`}
        <dt>Host</dt><dd>${backup.host}</dd><dt>Verified</dt><dd><${Time} at=${backup.verified_at} /></dd><dt>Note</dt><dd dir="auto">${backup.note || html`<span class="faint">none</span>`}</dd></dl>
      ${backup.warnings.map((/** @type {string} */ each) => html`<p class="banner banner-warn" key=${each} dir="auto">${each}</p>`)}
      <div class="row panel-actions">${isDone && mayWrite && html`${button("shield-check", "Verify", () => act(() => call(`${path}/verify`, { method: "POST" })))}${button("download", "Download", download)}`}
        ${isDone && allows("*", "deployment", "write") && button("rotate-cw", "Restore", () => open("restore"))}
        ${mayWrite && html`${button(backup.pinned ? "pin-off" : "pin", backup.pinned ? "Unpin" : "Pin", () => change({ pinned: !backup.pinned }))}${button("pencil", "Edit the note", () => open("note"))}
          ${backup.state !== "making" && html`<button class="button button-quiet is-danger" onClick=${() => open("delete")}>Delete</button>`}`}</div></div>
    ${opened === "restore" && html`<${Restore} backup=${backup} close=${leave} done=${reload} />`}
    ${opened === "note" && html`<${Note} path=${path} note=${backup.note} close=${leave} done=${reload} />`}
    ${opened === "delete" && html`<${Question} title="Delete the backup" action="Delete" close=${leave} act=${() => act(() => call(path, { method: "DELETE" }))}><p>The file is removed too. This cannot be undone.</p><//>`}<//>`;
}
