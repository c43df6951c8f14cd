/** The two ways to make a collection: by hand, and of a file. */
import { call } from "../app/api.js";
import { forgetCollections, making, pathOf } from "../app/collections.js";
import { html } from "../app/html.js";
import { go, link } from "../app/router.js";
import { Dialog } from "./dialog.js";
import { Alert, DialogFoot, Field, useForm } from "./form.js";
import { ImportDialog } from "./import.js";

/** The dialog that `making` names. @param {{ project: string }} given */
export function MakeCollection({ project }) {
  const close = () => { making.value = ""; };
  if (making.value === "import") return html`<${ImportDialog} project=${project} close=${close} done=${() => undefined} />`;
  return html`<${NewCollection} project=${project} close=${close} />`;
}

/** @param {{ project: string, close: () => void }} given */
function NewCollection({ project, close }) {
  const form = useForm({ name: "" }, async ({ name }) => {
    await call(`${pathOf(project)}/api/collections`, { method: "POST", body: { name, schema: {} } });
    forgetCollections();
    close();
    go(link(["projects", project, "data", name ?? "", "schema"]));
  });
  return html`<${Dialog} title="New collection" close=${close}><form onSubmit=${form.submit}><div class="dialog-body"><${Alert} form=${form} />
    <${Field} form=${form} name="name" label="Name" autofocus hint="Begins with a letter; letters, digits, _ and -. It stands in addresses, and stays." />
    </div><${DialogFoot} form=${form} action="Create" close=${close} /></form><//>`;
}
