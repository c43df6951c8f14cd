/** Another operator saved first: both values of each field that differs, and which of them is to stand. */
import { useId, useState } from "preact/hooks";
import { html } from "../app/html.js";
import { shortText } from "../grid/columns.js";
import { Dialog } from "./dialog.js";

/** @param {{ mine: Record<string, unknown>, before: Record<string, unknown>, theirs: Record<string, unknown>, close: () => void,
 *   save: (kept: Set<string>) => void }} given `save` takes the fields in which one's own value stands. */
export function Conflict({ mine, before, theirs, close, save }) {
  const same = (/** @type {unknown} */ one, /** @type {unknown} */ other) => JSON.stringify(one) === JSON.stringify(other);
  const disputed = Object.keys(mine).filter((name) => !same(before[name], theirs[name]) && !same(mine[name], theirs[name]));
  const [kept, keep] = useState(() => new Set(Object.keys(mine)));
  const choose = (/** @type {string} */ name, /** @type {boolean} */ isMine) => keep((old) => {
    const next = new Set(old);
    if (isMine) next.add(name);
    else next.delete(name);
    return next;
  });
  return html`<${Dialog} title="It was changed meanwhile" close=${close}><div class="dialog-body">
      <p class="soft">${disputed.length ? "Choose for each field which value stands." : "Other fields were changed. Yours can be saved."}</p>
      ${disputed.map((name) => html`<${Dispute} key=${name} name=${name} mine=${shortText(mine[name])} theirs=${shortText(theirs[name])} isMine=${kept.has(name)} choose=${(/** @type {boolean} */ isMine) => choose(name, isMine)} />`)}
    </div><div class="dialog-foot"><button class="button" type="button" onClick=${close}>Cancel</button><button class="button button-primary" type="button" onClick=${() => save(kept)}>Save</button></div><//>`;
}

/** @param {{ name: string, mine: string, theirs: string, isMine: boolean, choose: (isMine: boolean) => void }} given */
function Dispute({ name, mine, theirs, isMine, choose }) {
  const group = useId();
  return html`<fieldset class="dispute"><legend dir="auto">${name}</legend>
    <label class="row"><input type="radio" name=${group} checked=${isMine} onChange=${() => choose(true)} /><span>Mine: <bdi>${mine || "none"}</bdi></span></label>
    <label class="row"><input type="radio" name=${group} checked=${!isMine} onChange=${() => choose(false)} /><span>Theirs: <bdi>${theirs || "none"}</bdi></span></label></fieldset>`;
}
