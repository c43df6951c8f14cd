/** The steps of a sign-in: password, second factor, setting up a factor. The same alone on a page and in a dialog. */
import { useState } from "preact/hooks";
import { callOnce } from "../app/api.js";
import { html } from "../app/html.js";
import { confirmQuestion, enter, leave, me, signInQuestion } from "../app/session.js";
import { Dialog } from "./dialog.js";
import { Alert, Field, useForm } from "./form.js";
import { later } from "./later.js";

const Enrolment = later(() => import("./enrolment.js"), "Enrolment");

/** @typedef {{ totp: string } | { recovery_code: string }} Proof */

/** @param {string} code @returns {Proof} Six digits are those of the app; all else is a recovery code. */
export const readProof = (code) => (/^\d{6}$/.test(code.trim()) ? { totp: code.trim() } : { recovery_code: code.trim() });

/** The session's next step. @param {{ done: () => void }} given */
export function SignIn({ done }) {
  const stage = me.value?.stage;
  const next = (/** @type {import("../app/session.js").Me} */ found) => {
    enter(found);
    if (found.stage === "full") done();
  };
  if (stage === "factor") return html`<${CodeForm} next=${next} />`;
  if (stage === "enrol") return html`<${Enrolment} done=${done} call=${callOnce} />`;
  return html`<${PasswordForm} next=${next} />`;
}

/** @param {{ next: (found: any) => void }} given */
function PasswordForm({ next }) {
  const form = useForm({ email: me.value?.operator.email ?? "", password: "" }, async (body) =>
    next(await callOnce("session", { method: "POST", body })));
  return html`<form class="stack" onSubmit=${form.submit}>
    <${Alert} form=${form} />
    <${Field} form=${form} name="email" label="Email" type="email" autocomplete="username" autofocus=${!form.values.email} />
    <${Field} form=${form} name="password" label="Password" type="password" autocomplete="current-password" autofocus=${!!form.values.email} />
    <button class="button button-primary button-large button-wide" aria-disabled=${form.isBusy}>Sign in</button>
  </form>`;
}

/** @param {{ next: (found: any) => void }} given */
function CodeForm({ next }) {
  const form = useForm({ code: "" }, async ({ code }) =>
    next(await callOnce("session/factor", { method: "POST", body: readProof(code ?? "") })));
  return html`<form class="stack" onSubmit=${form.submit}>
    <${Alert} form=${form} />
    <${CodeField} form=${form} />
    <button class="button button-primary button-large button-wide" aria-disabled=${form.isBusy}>Sign in</button>
    <button class="link-button" type="button" onClick=${leave}>Begin again</button>
  </form>`;
}

/** @param {{ form: import("./form.js").FormState, autofocus?: boolean }} given */
export function CodeField({ form, autofocus = true }) {
  return html`<${Field} form=${form} name="code" label="Code" autocomplete="one-time-code" autofocus=${autofocus}
    hint="The six digits of your authenticator app, or a recovery code." />`;
}

/** The dialogs that a request opens over the page. */
export function SessionDialogs() {
  const signIn = signInQuestion.value;
  const confirm = confirmQuestion.value;
  return html`
    ${signIn && html`<${Dialog} title="Your session has ended" close=${signIn.cancel}>
      <div class="dialog-body"><p class="soft">Sign in again. What you have typed stays on the page.</p>
        <${Again} done=${signIn.done} /></div><//>`}
    ${confirm && html`<${Dialog} title="Confirm that it is you" close=${confirm.cancel}><${Confirm} question=${confirm} /><//>`}`;
}

/** The first step of a session that ended. @param {{ done: () => void }} given */
function Again({ done }) {
  const [step, setStep] = useState("");
  const next = (/** @type {import("../app/session.js").Me} */ found) => {
    enter(found);
    if (found.stage === "full") done();
    else setStep(found.stage);
  };
  return step === "" ? html`<${PasswordForm} next=${next} />` : html`<${SignIn} done=${done} />`;
}

/** @param {{ question: import("../app/session.js").Question }} given */
function Confirm({ question }) {
  const hasFactor = Boolean(me.value?.operator.factors.length);
  const form = useForm({ password: "", ...(hasFactor ? { code: "" } : {}) }, async ({ password, code }) => {
    enter(await callOnce("session/confirm", { method: "POST", body: { password, ...(hasFactor ? readProof(code ?? "") : {}) } }));
    question.done();
  });
  return html`<form onSubmit=${form.submit}>
    <div class="dialog-body">
      <p class="soft">This needs your password. It is not asked again for 10 minutes.</p>
      <${Alert} form=${form} />
      <input class="unseen" type="email" autocomplete="username" value=${me.value?.operator.email} tabindex="-1" aria-hidden="true" readonly />
      <${Field} form=${form} name="password" label="Password" type="password" autocomplete="current-password" autofocus />
      ${hasFactor && html`<${CodeField} form=${form} autofocus=${false} />`}
    </div>
    <div class="dialog-foot">
      <button class="button" type="button" onClick=${question.cancel}>Cancel</button>
      <button class="button button-primary" aria-disabled=${form.isBusy}>Confirm</button>
    </div>
  </form>`;
}
