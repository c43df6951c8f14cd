/** The operator who is signed in, and the two questions that the console asks over a page. */
import { signal } from "@preact/signals";

/** @typedef {{ id: string, email: string, name: string, roles: Record<string, string>, disabled: boolean,
 *   created_at: string, last_seen_at: string | null,
 *   factors: { type: string, created_at: string, recovery_codes_left: number }[] }} Operator */
/** @typedef {{ operator: Operator, stage: "factor" | "enrol" | "full", expires_at: string, idle_until: string,
 *   access: Record<string, Record<string, "read" | "write">>, confirmed_until: string | null,
 *   deployment: { id: string, version: string, base_url: string, has_smtp: boolean } }} Me */
/** @typedef {{ done: () => void, cancel: () => void }} Question */

/** Undefined until the service has answered; null without a session. */
export const me = signal(/** @type {Me | null | undefined} */ (undefined));
export const signInQuestion = signal(/** @type {Question | null} */ (null));
export const confirmQuestion = signal(/** @type {Question | null} */ (null));

// A message is the id of the operator who is signed in now, or null.
const tabs = new BroadcastChannel("console");
tabs.onmessage = (/** @type {MessageEvent<string | null>} */ { data }) => {
  if (!me.value) return;
  if (data === null) askSignIn(new Error("signed out")).catch(() => undefined);
  else if (data === me.value.operator.id) signInQuestion.value?.done();
  else location.reload();
};

/** @param {Me} found A session, also of another stage. It belongs to every tab of the browser. */
export function enter(found) {
  const before = me.value?.operator.id;
  me.value = found;
  if (found.stage !== "full") return;
  if (before && before !== found.operator.id) location.reload();
  tabs.postMessage(found.operator.id);
}

/** After a sign-out in this tab; the others ask for a sign-in and keep what is typed there. */
export function leave() {
  me.value = null;
  tabs.postMessage(null);
}

/** @param {import("@preact/signals").Signal<Question | null>} question @returns {(error: Error) => Promise<void>} */
function asker(question) {
  /** @type {Promise<void> | null} */
  let asked = null;
  return (error) => {
    asked ??= new Promise((resolve, reject) => {
      const close = (/** @type {() => void} */ settle) => () => {
        question.value = asked = null;
        settle();
      };
      question.value = { done: close(resolve), cancel: close(() => reject(error)) };
    });
    return asked;
  };
}

/** Each waits until the operator has answered; however many requests ask, one dialog is shown. Rejects with the error. */
export const askSignIn = asker(signInQuestion);
export const askConfirmation = asker(confirmQuestion);

/** @param {string} project `*` for the deployment. @param {string} area @param {"read" | "write"} [level] @returns {boolean} */
export function allows(project, area, level = "read") {
  const access = me.value?.access ?? {};
  const grants = [access["*"]?.[area], access[project]?.[area]];
  return grants.includes("write") || (level === "read" && grants.includes("read"));
}
