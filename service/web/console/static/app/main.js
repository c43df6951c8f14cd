/** Begins the console: what it shows follows from the session and from the fragment. */
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Alone } from "../parts/alone.js";
import { later } from "../parts/later.js";
import { SessionDialogs, SignIn } from "../parts/sign-in.js";
import { Loaded } from "../parts/states.js";
import { ApiError, callOnce } from "./api.js";
import { html } from "./html.js";
import { useLoading } from "./loading.js";
import { findPage } from "./pages.js";
import { place, replace } from "./router.js";
import { me } from "./session.js";
import { Shell } from "./shell.js";

const Join = later(() => import("../pages/join.js"), "Join");
const ACTIVITY_MS = 60_000;
const TOKEN = /^[\w-]{43}$/;

/** The one-time token of the address, which leaves it at once. @returns {string} */
function takeToken() {
  const [page, token = ""] = place.value.path;
  if (page !== "join") return "";
  replace("#/");
  return TOKEN.test(token) ? token : "-";
}

function Console() {
  const [token, setToken] = useState(takeToken);
  const loading = useLoading(readSession, []);
  const [page] = place.value.path;
  useEffect(() => {
    if (page === "join") setToken(takeToken());
  }, [page]);
  if (token) return html`<${Join} key=${token} token=${token} done=${() => setToken("")} />`;
  if (me.value === undefined) return html`<${Alone} title="Console"><${Loaded} loading=${loading} /><//>`;
  return html`<${Entrance} />`;
}

/** The shell of an operator whose sign-in was complete once; its dialogs ask again where the session ends. */
function Entrance() {
  const [isIn, setIn] = useState(me.value?.stage === "full");
  useEffect(() => {
    if (me.value === null) setIn(false);
    if (me.value?.stage === "full") setIn(true);
  }, [me.value]);
  if (isIn && me.value) return html`<${Shell} /><${SessionDialogs} />`;
  const titles = { factor: "Your second factor", enrol: "Set up a second factor", full: "Sign in" };
  return html`<${Alone} title=${titles[me.value?.stage ?? "full"]}><${SignIn} done=${() => setIn(true)} /><//>`;
}

/** @param {AbortSignal} signal */
async function readSession(signal) {
  try {
    me.value = await callOnce("session", { signal });
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "operator_required")) throw error;
    me.value = null;
  }
  return true;
}

let seen = Date.now();
addEventListener("input", () => {
  if (me.value?.stage !== "full" || Date.now() - seen < ACTIVITY_MS) return;
  seen = Date.now();
  callOnce("session").catch(() => undefined);
});

// The page's files come beside the session; the shell finds them loaded.
findPage(place.value.path)?.page.load().catch(() => undefined);
const root = document.getElementById("console");
if (root) render(html`<${Console} />`, root);
