/** The settings of a project while they are edited: what changes, the service's faults, and changes of others meanwhile. */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { ApiError, call } from "../app/api.js";
import { useLoading } from "../app/loading.js";

/** @typedef {Record<string, any>} Values */
/** @typedef {{ settings: Values, secrets: string[], version: number }} Found */
/** @typedef {{ path: string[], before: any, after: any }} Change */
/** @typedef {{ mine: any, theirs: any, choice: "" | "mine" | "theirs" }} Conflict */
/** @typedef {{ found: Found | null, edits: Values, faults: Record<string, string>, conflicts: Record<string, Conflict>, alert: string }} Draft */

/** @type {Draft} `found` is what the edits began from. */
const NONE = { found: null, edits: {}, faults: {}, conflicts: {}, alert: "" };
// Edits survive a look at another page.
const drafts = signal(/** @type {Record<string, Draft>} */ ({}));

addEventListener("beforeunload", (event) => {
  if (Object.values(drafts.value).some(({ edits }) => Object.keys(edits).length)) event.preventDefault();
});

/** @param {any} one @param {any} other @returns {boolean} */
const same = (one, other) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

/** @param {string} project */
export function useSettings(project) {
  const path = `projects/${encodeURIComponent(project)}/settings`;
  const [isBusy, setBusy] = useState(false);
  const loading = useLoading(async (signal) => {
    const [schema, found] = await Promise.all([call("settings-schema", { signal }), call(path, { signal })]);
    return { forms: /** @type {Record<string, import("./control.js").Schema>} */ (schema.properties), found: /** @type {Found} */ (found) };
  }, [project]);
  const draft = drafts.value[project] ?? NONE;
  const found = draft.found ?? loading.data?.found ?? { settings: {}, secrets: [], version: 0 };
  const forms = loading.data?.forms ?? {};
  const put = (/** @type {Partial<Draft>} */ change) => {
    drafts.value = { ...drafts.value, [project]: { ...(drafts.value[project] ?? NONE), ...change } };
  };
  useEffect(() => {
    const wrong = /** @type {HTMLElement | null} */ (document.querySelector("[aria-invalid=true]"));
    wrong?.focus();
  }, [draft.faults]);

  /** @param {string} name @param {any} value Null is the default. */
  function set(name, value) {
    const { [name]: _, ...rest } = draft.edits;
    const isSet = name in found.settings || found.secrets.includes(name);
    const isBack = isSet ? same(value, found.settings[name]) && name in found.settings : same(value, forms[name]?.default);
    const { [name]: fault, ...faults } = draft.faults;
    put({ found, edits: isBack ? rest : { ...rest, [name]: value }, faults, alert: "" });
  }

  /** Forgets an edit. @param {string} name */
  function undo(name) {
    const { [name]: _, ...edits } = draft.edits;
    put({ edits });
  }

  /** @param {boolean} dryRun @returns {Promise<any>} */
  function send(dryRun) {
    const query = { dry_run: dryRun ? "true" : null };
    const settings = Object.fromEntries(Object.entries(draft.edits).map(([name, value]) => [name, readObject(forms[name], value)]));
    return call(path, { method: "PATCH", query, headers: { "if-match": `"v${found.version}"` }, body: { settings } });
  }

  /** @param {unknown} error */
  async function show(error) {
    if (error instanceof ApiError && error.status === 412) return put(rebase(draft, found, await call(path)));
    const faults = error instanceof ApiError ? error.faults : [];
    const needs = error instanceof ApiError && error.needs ? ` Needed: ${error.needs}.` : "";
    put({
      faults: Object.fromEntries(faults.map(({ loc, msg }) => [loc[2], msg])),
      alert: faults.map(({ loc, msg }) => `${forms[String(loc[2])]?.title ?? loc.join(".")}: ${msg}`).join(" ") || (error instanceof Error ? error.message : String(error)) + needs,
    });
  }

  /** @template T @param {() => Promise<T>} act @returns {Promise<T | undefined>} */
  async function attempt(act) {
    setBusy(true);
    put({ faults: {}, alert: "" });
    try {
      return await act();
    } catch (error) {
      await show(error).catch((other) => put({ alert: other.message }));
    } finally {
      setBusy(false);
    }
  }

  const save = () => attempt(async () => {
    const after = await send(false);
    if (loading.data) loading.data.found = after;
    put(NONE);
    return true;
  });
  const preview = () => attempt(async () => /** @type {Change[]} */ ((await send(true)).changes));
  return { loading, forms, found, draft, isBusy, set, undo, save, preview, revert: () => put(NONE),
    choose: (/** @type {string} */ name, /** @type {"mine" | "theirs"} */ choice) => put(pick(draft, name, choice)) };
}

/** @typedef {ReturnType<typeof useSettings>} Settings */

/** @param {import("./control.js").Schema | undefined} form @param {any} value @returns {any} Text that is no JSON stays text, which the service refuses. */
function readObject(form, value) {
  if (form?.type !== "object" || typeof value !== "string") return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** The draft on what another operator saved meanwhile. A setting that both changed is a conflict.
 * @param {Draft} draft @param {Found} before @param {Found} after @returns {Draft} */
function rebase(draft, before, after) {
  const both = Object.keys(draft.edits).filter(
    (name) => !same(before.settings[name], after.settings[name]) && !same(draft.edits[name], after.settings[name]),
  );
  const conflicts = Object.fromEntries(
    both.map((name) => [name, { mine: draft.edits[name], theirs: after.settings[name] ?? null, choice: /** @type {""} */ ("") }]),
  );
  const alert = both.length ? "Another operator saved other values meanwhile. Choose one of each, then save again."
    : "Another operator saved other settings meanwhile. Your changes are kept: save again.";
  return { found: after, edits: draft.edits, faults: {}, conflicts, alert };
}

/** @param {Draft} draft @param {string} name @param {"mine" | "theirs"} choice @returns {Partial<Draft>} */
function pick(draft, name, choice) {
  const conflict = draft.conflicts[name];
  if (!conflict) return {};
  const { [name]: _, ...rest } = draft.edits;
  return { edits: choice === "mine" ? { ...rest, [name]: conflict.mine } : rest, conflicts: { ...draft.conflicts, [name]: { ...conflict, choice } } };
}
