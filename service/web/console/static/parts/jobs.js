/** Long jobs: their progress, how they ended, and Cancel. */
import { useEffect } from "preact/hooks";
import { call } from "../app/api.js";
import { html } from "../app/html.js";
import { useLoading } from "../app/loading.js";
import { number, Time } from "../app/texts.js";
import { Icon } from "./icon.js";
import { Loaded } from "./states.js";

const REPEAT_MS = 2_000;
/** @type {Record<string, string>} */
const KINDS = { backup: "Backup", verify: "Verification", restore: "Restoration", clone: "Copy" };
/** @type {Record<string, [string, string]>} */
const MARKS = { done: ["circle-check", "good"], failed: ["circle-x", "bad"], cancelled: ["ban", ""] };

/** @param {{ state: string }} job @returns {boolean} */
export const isUnderWay = ({ state }) => !(state in MARKS);

/** Loads again while something is under way and the page is seen. @param {() => void} reload @param {boolean} isNeeded */
export function useRepeats(reload, isNeeded) {
  useEffect(() => {
    if (!isNeeded) return undefined;
    const timer = setInterval(() => document.hidden || reload(), REPEAT_MS);
    return () => clearInterval(timer);
  });
}

/** @param {{ jobs: any[], path: string, mayCancel: boolean, act: (send: () => Promise<unknown>) => Promise<void> }} given */
export function Jobs({ jobs, path, mayCancel, act }) {
  if (!jobs.length) return null;
  const cancel = (/** @type {any} */ job) => act(() => call(`${path}/${job.id}/cancel`, { method: "POST" }));
  return html`<section class="card card-list" aria-labelledby="jobs"><div class="card-head"><h2 id="jobs">Jobs</h2></div>
    ${jobs.map((job) => html`<${Job} key=${job.id} job=${job} cancel=${mayCancel ? () => cancel(job) : null} />`)}</section>`;
}

/** @param {{ job: any, cancel: (() => void) | null }} given */
function Job({ job, cancel }) {
  const [icon, tone] = MARKS[job.state] ?? ["timer", ""];
  const { done, total } = job.progress;
  const name = `${KINDS[job.kind] ?? job.kind} of ${job.project_id}`;
  return html`<div class="listing"><${Icon} name=${icon} tone=${tone} /><div class="listing-text"><span dir="auto">${name} <span class="faint">${job.state}${job.by.name ? `, by ${job.by.name}` : ""}</span></span>
      ${isUnderWay(job) && html`<p>${job.phase || "waiting"}: ${number(done)}${total === null ? "" : ` of ${number(total)}`}</p><progress class="meter" aria-label=${`Progress of the ${name}`} max=${total || 1} value=${total ? done : null} />`}
      ${job.error && html`<p class="bad" dir="auto">${job.error.detail}</p>`}${job.warnings.map((/** @type {string} */ each) => html`<p key=${each} dir="auto">${each}</p>`)}</div>
    <span class="push faint wide"><${Time} at=${job.ended_at ?? job.created_at} /></span>
    ${isUnderWay(job) && cancel && html`<button class="button button-small" disabled=${job.state === "cancelling"} onClick=${cancel}>Cancel the job</button>`}</div>`;
}

/** A job that was just begun, until its end. @param {{ path: string, children?: unknown }} given `children` stand below it once it is done. */
export function Followed({ path, children }) {
  const loading = useLoading((signal) => call(path, { signal }), [path]);
  useRepeats(loading.reload, !!loading.data && isUnderWay(loading.data));
  return html`<${Loaded} loading=${loading}>${loading.data && html`<${Job} job=${loading.data} cancel=${null} />`}${loading.data?.state === "done" && children}<//>`;
}
