// A page that signs in by every way there is: a password, a code or a link of a mail, a provider, a passkey; and a second factor after
// the first. It knows the publishable key alone. No library, no build.
const byId = (id) => document.getElementById(id);
const given = new URL(location.href).searchParams;
const HERE = location.origin + location.pathname;
const SETTINGS = "sign-in.settings", SIGNED_IN = "sign-in.token", VERIFIER = "sign-in.verifier";
const PANELS = ["connect", "enter", "mailed", "factor", "enrol", "app", "recovery", "account"];
const TITLES = {
  connect: "Sign in", enter: "Sign in", mailed: "Look into your mail", factor: "One more step", enrol: "Add a second factor",
  app: "Authenticator app", recovery: "Recovery codes", account: "Your account",
};
const FACTORS = "/auth-collections/user/factors";
// Where the service is, which the page is told in its address and then keeps: what a mail or a provider leads back to has it no more.
const kept = JSON.parse(localStorage.getItem(SETTINGS) ?? "{}");
const settings = {service: (given.get("service") ?? kept.service ?? "").replace(/\/+$/, ""), key: given.get("key") ?? kept.key ?? ""};
// What is under way: the flow of a mail, a sign-in that waits for a factor, or what is done once the user has stepped up.
let flow = null, waiting = null, enrolling = null, app = null;

class Refused extends Error {
  constructor(said) {
    const detail = typeof said.detail === "string" ? said.detail : said.detail.map((each) => `${each.loc.at(-1)}: ${each.msg}`).join("; ");
    super(detail);
    this.said = said;
  }
}

// The token is kept for this tab, and for the service that gave it: another one never sees it.
function signedIn() {
  const found = JSON.parse(sessionStorage.getItem(SIGNED_IN) ?? "null");
  return found && found.service === settings.service && found.key === settings.key ? found : null;
}

async function ask(method, path, body) {
  const token = signedIn()?.token, headers = {"x-api-key": settings.key};
  if (token) headers.authorization = `Bearer ${token}`;
  if (body) headers["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(settings.service + path, {method, headers, body: body && JSON.stringify(body)});
  } catch {
    throw new Error("The service does not answer this page. Does it run, and does CORS_ORIGINS name " + location.origin + "?");
  }
  const said = answer.status === 204 ? null : await answer.json();
  if (answer.ok) return said;
  throw new Refused(said);
}

function show(name) {
  for (const each of PANELS) byId(each).hidden = each !== name;
  byId("title").textContent = document.title = TITLES[name];
  byId("service-shown").textContent = settings.service;
  const first = byId(name).querySelector("input:not([hidden])");
  (first && first.offsetParent ? first : byId("title")).focus();
}

// Runs one action at a time, shows what went wrong, and goes on where the service asks for more.
async function trying(action) {
  byId("problem").textContent = "";
  document.querySelectorAll("button").forEach((button) => button.disabled = true);
  try {
    await action();
  } catch (problem) {
    if (problem instanceof Refused && await goOn(problem.said, action)) return;
    byId("problem").textContent = problem.name === "NotAllowedError" ? "Your device gave no passkey." : problem.message;
  } finally {
    document.querySelectorAll("button").forEach((button) => button.disabled = false);
  }
}

async function goOn(said, action) {
  if (said.code === "mfa_required" && !signedIn()) wait({flow_id: said.flow_id, methods: said.methods, why: "Show once more that it is you."});
  else if (said.code === "mfa_enrolment_required") { enrolling = said.flow_id; show("enrol"); }
  else if (said.code === "step_up_required") await stepUp(action);
  else if (said.code === "invalid_token" && signedIn()) signOut();
  else return false;
  return true;
}

// --- the first factor

async function enter(way, form) {
  const email = form.email.value, password = form.password.value;
  if (way === "email") return mailCode(email);
  if (!password) throw new Error("Type a password, or have a code mailed.");
  const said = await ask("POST", `/auth-collections/${way}`, {email, password});
  if (said.access_token) return welcome(said);
  // The project has new users prove their address, see EMAIL_VERIFICATION.
  expectMail(said.flow_id, email);
}

async function mailCode(email) {
  let said;
  try {
    // With a challenge the mail has a link, too, which only this browser can use; the project must allow this page for that.
    said = await ask("POST", "/auth-collections/login-email", {email, create: true, redirect_to: HERE, code_challenge: await newChallenge()});
  } catch (problem) {
    if (problem.said?.code !== "validation_error") throw problem;
    said = await ask("POST", "/auth-collections/login-email", {email, create: true});
  }
  expectMail(said.flow_id, email);
}

function expectMail(flow_id, email) {
  flow = flow_id;
  byId("mailed-to").textContent = email;
  show("mailed");
}

const toText = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");

// The verifier stays in this browser: who sees the link, or the address that a provider leads back to, has nothing (RFC 7636).
async function newChallenge() {
  const verifier = toText(crypto.getRandomValues(new Uint8Array(32)));
  localStorage.setItem(VERIFIER, verifier);
  return toText(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier)));
}

async function comeBack(code) {
  const code_verifier = localStorage.getItem(VERIFIER);
  localStorage.removeItem(VERIFIER);
  if (!code_verifier) throw new Error("This was begun in another browser. Type the code of the mail there.");
  welcome(await ask("POST", "/auth-collections/token", {code, code_verifier}));
}

async function goToProvider(provider) {
  const wanted = new URLSearchParams({provider, redirect_to: HERE, code_challenge: await newChallenge()});
  location.assign((await ask("GET", `/auth-collections/login-idp?${wanted}`)).url);
}

async function findMethods() {
  const methods = await ask("GET", "/auth-collections/sign-in-methods");
  byId("by-passkey").hidden = !methods.passkey || !hasPasskeys();
  byId("providers").replaceChildren(...methods.providers.map(({id, name}) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = id === "default" ? "Go on with the provider" : `Go on with ${name}`;
    button.onclick = () => trying(() => goToProvider(id));
    return button;
  }));
}

// --- passkeys

const hasPasskeys = () => Boolean(window.PublicKeyCredential?.parseRequestOptionsFromJSON);

async function usePasskey({flow_id, publicKey}) {
  const options = PublicKeyCredential.parseRequestOptionsFromJSON(publicKey);
  const credential = await navigator.credentials.get({publicKey: options});
  return {flow_id, credential: credential.toJSON()};
}

async function enterByPasskey() {
  const answer = await usePasskey(await ask("POST", "/auth-collections/login-passkey/options", {}));
  welcome(await ask("POST", "/auth-collections/login-passkey", answer));
}

async function addPasskey() {
  if (!hasPasskeys()) throw new Error("This browser has no passkeys.");
  const {flow_id, publicKey} = await ask("POST", `${FACTORS}/passkey/options`, onTheWay());
  const options = PublicKeyCredential.parseCreationOptionsFromJSON(publicKey);
  const credential = await navigator.credentials.create({publicKey: options});
  welcome(await ask("POST", `${FACTORS}/passkey`, {flow_id, credential: credential.toJSON()}));
}

// --- second factors

// Who must have a factor to come in at all has a flow in the place of a token.
const onTheWay = () => signedIn() ? {} : {flow_id: enrolling};

function wait(wanted) {
  waiting = wanted;
  byId("factor-why").textContent = wanted.why;
  for (const place of document.querySelectorAll("#factor [data-method]")) place.hidden = !wanted.methods.includes(place.dataset.method);
  byId("factor-go").hidden = wanted.methods.every((method) => method === "passkey");
  show("factor");
}

async function stepUp(action) {
  const {factors, recovery_codes_left} = await ask("GET", FACTORS);
  const methods = [...new Set(factors.map((factor) => factor.type)), ...(recovery_codes_left ? ["recovery_code"] : [])];
  wait({methods: methods.length ? methods : ["password"], why: "Before this is changed, show once more that it is you.", then: action});
}

async function finishFactor(proof) {
  const {flow_id, then} = waiting;
  const said = flow_id
    ? await ask("POST", "/auth-collections/login-factor", {flow_id, ...proof})
    : await ask("POST", "/auth-collections/user/step-up", proof);
  waiting = null;
  byId("factor").reset();
  welcome(said);
  if (then) await then();
}

async function finishByPasskey() {
  const {flow_id} = waiting;
  const asked = flow_id
    ? await ask("POST", "/auth-collections/login-factor/options", {flow_id})
    : await ask("POST", "/auth-collections/user/step-up/options", {});
  await finishFactor(await usePasskey(asked));
}

async function addApp() {
  app = await ask("POST", `${FACTORS}/totp`, onTheWay());
  byId("app-secret").textContent = app.secret;
  byId("app-link").href = app.uri;
  show("app");
}

async function confirmApp(form) {
  const said = await ask("POST", `${FACTORS}/totp/${app.id}/confirm`, {code: form.code.value, ...onTheWay()});
  form.reset();
  welcome(said);
}

const adding = {passkey: addPasskey, totp: addApp};

// --- being signed in

function welcome({access_token, user, recovery_codes}) {
  sessionStorage.setItem(SIGNED_IN, JSON.stringify({...settings, token: access_token, email: user.email}));
  enrolling = flow = null;
  byId("enter").reset();
  byId("mailed").reset();
  if (recovery_codes) showCodes(recovery_codes);
  else showAccount();
}

function showCodes(codes) {
  byId("recovery-codes").replaceChildren(...codes.map((code) => {
    const item = document.createElement("li");
    item.textContent = code;
    return item;
  }));
  show("recovery");
}

function showAccount() {
  const {email, token} = signedIn();
  const claims = JSON.parse(atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/")));
  byId("who").textContent = `Signed in as ${email}.`;
  byId("level").textContent = `Level ${claims.aal}, by ${claims.amr.join(" and ")}.`;
  show("account");
  trying(listFactors);
}

async function listFactors() {
  const {factors, recovery_codes_left} = await ask("GET", FACTORS);
  byId("factors").replaceChildren(...factors.map(drawn));
  byId("codes-left").textContent = factors.length ? `${recovery_codes_left} recovery codes are left.` : "";
  byId("new-codes").hidden = !factors.length;
}

function drawn(factor) {
  const item = document.createElement("li"), name = document.createElement("span"), used = document.createElement("small");
  const button = document.createElement("button");
  name.textContent = factor.name;
  used.textContent = factor.last_used_at ? `Used ${new Date(factor.last_used_at).toLocaleString()}` : "Not used yet";
  name.append(used);
  button.className = "plain";
  button.textContent = "Remove";
  button.setAttribute("aria-label", `Remove ${factor.name}`);
  button.onclick = () => trying(async () => {
    await ask("DELETE", `${FACTORS}/${factor.id}`);
    await listFactors();
  });
  item.append(name, button);
  return item;
}

function signOut() {
  sessionStorage.removeItem(SIGNED_IN);
  begin();
}

function begin() {
  flow = waiting = enrolling = app = null;
  if (!settings.service || !settings.key) return show("connect");
  if (signedIn()) return showAccount();
  show("enter");
  trying(findMethods);
}

byId("connect").onsubmit = (event) => {
  event.preventDefault();
  settings.service = event.target.service.value.replace(/\/+$/, "");
  settings.key = event.target.key.value.trim();
  localStorage.setItem(SETTINGS, JSON.stringify(settings));
  begin();
};
byId("enter").onsubmit = (event) => {
  event.preventDefault();
  const way = event.submitter?.value ?? "login";
  trying(() => enter(way, event.target));
};
byId("mailed").onsubmit = (event) => {
  event.preventDefault();
  trying(async () => welcome(await ask("POST", "/auth-collections/confirm", {flow_id: flow, code: event.target.code.value})));
};
byId("factor").onsubmit = (event) => {
  event.preventDefault();
  const proof = waiting.methods.map((method) => [method, event.target.elements[method]?.value]).find(([, value]) => value);
  trying(() => proof ? finishFactor(Object.fromEntries([proof])) : Promise.reject(new Error("Type one of them.")));
};
byId("app").onsubmit = (event) => {
  event.preventDefault();
  trying(() => confirmApp(event.target));
};
byId("by-passkey").onclick = () => trying(enterByPasskey);
byId("factor-passkey").onclick = () => trying(finishByPasskey);
byId("new-codes").onclick = () => trying(async () => showCodes((await ask("POST", "/auth-collections/user/recovery-codes")).recovery_codes));
byId("kept").onclick = () => { byId("recovery-codes").replaceChildren(); showAccount(); };
byId("elsewhere").onclick = () => { settings.service = settings.key = ""; localStorage.removeItem(SETTINGS); begin(); };
byId("sign-out").onclick = () => trying(async () => {
  await ask("POST", "/auth-collections/logout", {}).catch(() => null);
  signOut();
});
document.querySelectorAll("[data-back]").forEach((button) => button.onclick = () => { byId("problem").textContent = ""; begin(); });
document.querySelectorAll("[data-add]").forEach((button) => button.onclick = () => trying(adding[button.dataset.add]));

// What a link or a provider brought is good once, and is not kept in the address.
const code = given.get("svc-code"), error = given.get("svc-error");
if (given.has("service")) localStorage.setItem(SETTINGS, JSON.stringify(settings));
if (code || error) history.replaceState(null, "", HERE);
begin();
if (code) trying(() => comeBack(code));
if (error) byId("problem").textContent = `The provider did not sign you in: ${error}`;
