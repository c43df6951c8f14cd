/** The dialogs of backups: take one, copy the project, restore, and the note. */
import { useState } from "preact/hooks";
import { call } from "../app/api.js";
import { pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { link } from "../app/router.js";
import { Dialog } from "./dialog.js";
import { Alert, Check, DialogFoot, Field, useForm } from "./form.js";
import { Followed } from "./jobs.js";

const LEFT_OUT = { files: "Files", sessions: "Sessions", events: "Events of users" };

/** @param {{ project: string, close: () => void, done: () => void }} given */
export function NewBackup({ project, close, done }) {
  const form = useForm({ note: "", files: "true", sessions: "true", events: "true" }, async ({ note, ...parts }) => {
    const without = /** @type {("files" | "sessions" | "events")[]} */ (Object.entries(parts).filter(([, value]) => value === "false").map(([name]) => name));
    await call(`${pathOf(project)}/backups`, { method: "POST", body: { note, without } });
    close();
    done();
  });
  return html`<${Dialog} title="Back up now" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
      <p class="soft">The backup has the records of one moment, while the project goes on.</p><${Field} form=${form} name="note" label="Note" required=${false} autofocus />
      ${Object.entries(LEFT_OUT).map(([name, label]) => html`<${Check} key=${name} form=${form} name=${name} label=${label} />`)}</div>
    <${DialogFoot} form=${form} action="Back up" close=${close} /></form><//>`;
}

/** @param {{ project: string, close: () => void, done: () => void }} given */
export function NewCopy({ project, close, done }) {
  const [job, begin] = useState(/** @type {any} */ (null));
  const form = useForm({ id: `${project}-copy`, name: "", empty: "false", with_secrets: "false" }, async ({ id, name, empty, with_secrets }) => {
    begin((await call(`${pathOf(project)}/clone`, { method: "POST", body: { id, ...(name && { name }), empty: empty === "true", with_secrets: with_secrets === "true" } })).job);
    done();
  });
  if (job) return html`<${Begun} title="Copy the project" job=${job} target=${form.values.id ?? ""} close=${close} />`;
  return html`<${Dialog} title="Copy the project" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
      <p class="soft">The copy sends no mail and has no API keys.</p><${Field} form=${form} name="id" label="Id of the copy" autofocus /><${Field} form=${form} name="name" label="Name" hint="Else the name of the project." required=${false} />
      <${Check} form=${form} name="empty" label="Without records" hint="Schemas, rules and settings alone." /><${Check} form=${form} name="with_secrets" label="With secrets" hint="Those of providers and of the mail server." /></div>
    <${DialogFoot} form=${form} action="Copy" close=${close} /></form><//>`;
}

/** @param {{ backup: any, close: () => void, done: () => void }} given */
export function Restore({ backup, close, done }) {
  const [job, begin] = useState(/** @type {any} */ (null));
  const form = useForm({ as: `${backup.project_id}-restored`, name: "", dry_run: "false", with_secrets: "false" }, async ({ as, name, dry_run, with_secrets }) => {
    begin((await call("restores", { method: "POST", body: { backup_id: backup.id, as: as ?? "", ...(name && { name }), dry_run: dry_run === "true", with_secrets: with_secrets === "true" } })).job);
    done();
  });
  if (job) return html`<${Begun} title="Restore" job=${job} target=${form.values.dry_run === "true" ? "" : (form.values.as ?? "")} close=${close} />`;
  return html`<${Dialog} title="Restore" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
      <p class="soft">The id must be free. Under the id that the project had, it is the project; under another one it is a copy without API keys.</p>
      <${Field} form=${form} name="as" label="Restore as" autofocus /><${Field} form=${form} name="name" label="Name" hint="Else the name that the project had." required=${false} />
      <${Check} form=${form} name="dry_run" label="Only try" hint="Reads the backup and restores nothing." /><${Check} form=${form} name="with_secrets" label="With secrets" hint="Those of providers and of the mail server, for a copy." /></div>
    <${DialogFoot} form=${form} action="Restore" close=${close} /></form><//>`;
}

/** The job goes on when the dialog is closed. @param {{ title: string, job: any, target: string, close: () => void }} given */
function Begun({ title, job, target, close }) {
  return html`<${Dialog} title=${title} close=${close}><div class="dialog-body"><${Followed} path=${`jobs/${job.id}`}>
      ${target && html`<a class="button" href=${link(["projects", target])}>Open ${target}</a>`}<//></div>
    <div class="dialog-foot"><button class="button" type="button" onClick=${close}>Close</button></div><//>`;
}

/** @param {{ path: string, note: string, close: () => void, done: () => void }} given */
export function Note({ path, note, close, done }) {
  const form = useForm({ note }, async (body) => {
    await call(path, { method: "PATCH", body });
    close();
    done();
  });
  return html`<${Dialog} title="Edit the note" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} /><${Field} form=${form} name="note" label="Note" required=${false} autofocus /></div>
    <${DialogFoot} form=${form} action="Save" close=${close} /></form><//>`;
}
