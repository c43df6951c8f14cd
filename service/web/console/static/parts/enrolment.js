/** Setting up an authenticator app: the QR code, the first code of the app, and the recovery codes, shown once. */
import { generate } from "lean-qr";
import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "../app/html.js";
import { enter, me } from "../app/session.js";
import { Alert, Field, useForm } from "./form.js";
import { Secret } from "./secret.js";

/** @param {{ done: () => void, call: typeof import("../app/api.js").call }} given `call` sends the requests. */
export function Enrolment({ done, call }) {
  const [begun, setBegun] = useState(/** @type {{ secret: string, uri: string } | null} */ (null));
  const [entered, setEntered] = useState(/** @type {any} */ (null));
  const start = useForm({}, async () => setBegun(await call("me/totp", { method: "POST" })));
  const form = useForm({ code: "" }, async (body) => setEntered(await call("me/totp/confirm", { method: "POST", body })));
  if (entered) return html`<${Codes} codes=${entered.recovery_codes} done=${() => { enter(entered); done(); }} />`;
  if (!begun)
    return html`<form class="stack" onSubmit=${start.submit}><${Alert} form=${start} />
      <p class="soft">${me.value?.stage === "enrol" ? "This deployment asks for a second factor." : "A second factor protects the account when its password is known."}
        ${" "}You need an authenticator app on a phone or computer.</p>
      <button class="button button-primary button-large button-wide" aria-disabled=${start.isBusy}>Set up an app</button></form>`;
  return html`<form class="stack" onSubmit=${form.submit}>
    <p class="soft">Scan this with the app, or type the secret into it. It is good for 10 minutes.</p>
    <${QrCode} text=${begun.uri} />
    <${Secret} name="Secret" text=${begun.secret} />
    <${Alert} form=${form} />
    <${Field} form=${form} name="code" label="Code" autocomplete="one-time-code" inputmode="numeric" hint="The six digits that the app shows." autofocus />
    <button class="button button-primary button-large button-wide" aria-disabled=${form.isBusy}>Confirm</button>
  </form>`;
}

/** @param {{ text: string }} given */
function QrCode({ text }) {
  const canvas = useRef(/** @type {HTMLCanvasElement | null} */ (null));
  useEffect(() => {
    if (canvas.current) generate(text).toCanvas(canvas.current, { padX: 0, padY: 0 });
  }, [text]);
  return html`<canvas class="qr" ref=${canvas} role="img" aria-label="QR code of the secret" />`;
}

/** @param {{ codes: string[], done: () => void }} given */
export function Codes({ codes, done }) {
  return html`<div class="stack">
    <p class="soft">Each of these codes signs you in once, without the app. They are not shown again.</p>
    <${Secret} name="Recovery codes" text=${codes.join("\n")} />
    <button class="button button-primary button-large button-wide" type="button" onClick=${done}>I have kept them</button>
  </div>`;
}
