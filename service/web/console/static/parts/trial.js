/** The outcome of a trial, step by step. */
import { html } from "../app/html.js";
import { Icon } from "./icon.js";

/** @typedef {{ ok: boolean, steps: { step: string, ok: boolean, detail: string | null }[], reply?: string | null }} Outcome */

/** @param {{ outcome: Outcome | null, good: string }} given `good` is said where each step succeeded. */
export function Trial({ outcome, good }) {
  if (!outcome) return null;
  return html`<div role="status" class=${`result trial ${outcome.ok ? "result-good" : "result-bad"}`}><${Icon} name=${outcome.ok ? "circle-check" : "circle-x"} />
    <div><b>${outcome.ok ? good : "It failed"}</b>
      <ol class="trial-steps">${outcome.steps.map(({ step, ok, detail }) => html`<li key=${step} class="row"><${Icon} name=${ok ? "check" : "x"} small tone=${ok ? "good" : "bad"} />
        <span>${step}<span class="unseen">${ok ? " succeeded" : " failed"}</span></span>${detail && html`<span class="soft" dir="auto">${detail}</span>`}</li>`)}</ol>
      ${outcome.reply && html`<code class="soft" dir="auto">${outcome.reply}</code>`}</div></div>`;
}
