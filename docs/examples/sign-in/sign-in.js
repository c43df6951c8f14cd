// A page that signs in by every way there is: a password, a code or a link of a mail, a provider, a passkey; and a second factor after
// the first. It knows the publishable key alone. No build.
import {createClient, ValidationError} from "../client/index.js";
import {passkeys} from "../client/passkeys.js";

const byId = (id) => document.getElementById(id);
const given = new URL(location.href).searchParams;
const HERE = location.origin + location.pathname;
const SETTINGS = "sign-in.settings";
const PANELS = ["connect", "enter", "mailed", "factor", "enrol", "app", "recovery", "account"];
const TITLES = {
  connect: "Sign in", enter: "Sign in", mailed: "Look into your mail", factor: "One more step", enrol: "Add a second factor",
  app: "Authenticator app", recovery: "Recovery codes", account: "Your account",
};
// Where the service is, which the page is told in its address and then keeps: what a mail or a provider leads back to has it no more.
const kept = JSON.parse(localStorage.getItem(SETTINGS) ?? "{}");
let settings = {url: given.get("service") ?? kept.url, key: given.get("key") ?? kept.key};
// The client; and what is under way: a sign-in that waits for a mail, for a factor or for a first one, or what follows a step-up.
let ac = null, flow = null, waiting = null, enrolling = null, app = null;

function show(name) {
  for (const each of PANELS) byId(each).hidden = each !== name;
  byId("title").textContent = document.title = TITLES[name];
  byId("service-shown").textContent = settings.url;
  const first = byId(name).querySelector("input:not([hidden])");
  (first && first.offsetParent ? first : byId("title")).focus();
}

// Runs one action at a time, shows what went wrong, and asks for a factor where the service wants one first.
async function trying(action) {
  byId("problem").textContent = "";
  document.querySelectorAll("button").forEach((button) => button.disabled = true);
  try {
    await action();
  } catch (problem) {
    if (problem.code === "step_up_required") return await stepUp(action);
    byId("problem").textContent = problem.name === "NotAllowedError" ? "Your device gave no passkey." : problem.message;
  } finally {
    document.querySelectorAll("button").forEach((button) => button.disabled = false);
  }
}

// A sign-in is complete, or says what is next.
async function goOn(done) {
  if (done.next === "mail") return expectMail(done);
  if (done.next === "factor") return wait({...done, why: "Show once more that it is you."});
  enrolling = done.next === "enrol" ? done.flow_id : null;
  if (enrolling) return show("enrol");
  flow = null;
  byId("enter").reset();
  byId("mailed").reset();
  if (done.recovery_codes) showCodes(done.recovery_codes);
  else await showAccount();
}

// --- the first factor

async function enter(way, form) {
  const email = form.email.value, password = form.password.value;
  if (way === "email") return goOn(await mailCode(email));
  if (!password) throw new Error("Type a password, or have a code mailed.");
  await goOn(await (way === "signup" ? ac.auth.signup({email, password}) : ac.auth.login(email, password)));
}

async function mailCode(email) {
  try {
    // The mail has a link, too, which only this browser can use; the project must allow this page for that.
    return await ac.auth.loginByMail(email, {create: true, redirect_to: HERE});
  } catch (problem) {
    if (!(problem instanceof ValidationError)) throw problem;
    return ac.auth.loginByMail(email, {create: true});
  }
}

function expectMail({flow_id}) {
  flow = flow_id;
  byId("mailed-to").textContent = byId("enter").email.value;
  show("mailed");
}

async function findMethods() {
  const methods = await ac.auth.methods();
  byId("by-passkey").hidden = !methods.passkey || !passkeys(ac).supported();
  byId("providers").replaceChildren(...methods.providers.map(({id, name}) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = id === "default" ? "Go on with the provider" : `Go on with ${name}`;
    button.onclick = () => trying(() => ac.auth.loginProvider(id, {redirect_to: HERE}));
    return button;
  }));
}

// --- second factors

// Who must have a factor to come in at all has a flow in the place of a session.
const onTheWay = () => enrolling ? {flow_id: enrolling} : {};

async function addPasskey() {
  if (!passkeys(ac).supported()) throw new Error("This browser has no passkeys.");
  await goOn(await passkeys(ac).add(onTheWay()));
}

function wait(wanted) {
  waiting = wanted;
  byId("factor-why").textContent = wanted.why;
  for (const place of document.querySelectorAll("#factor [data-method]")) place.hidden = !wanted.methods.includes(place.dataset.method);
  byId("factor-go").hidden = wanted.methods.every((method) => method === "passkey");
  show("factor");
}

async function stepUp(action) {
  const {factors, recovery_codes_left} = await ac.auth.factors();
  const methods = [...new Set(factors.map((factor) => factor.type)), ...(recovery_codes_left ? ["recovery_code"] : [])];
  wait({methods: methods.length ? methods : ["password"], why: "Before this is changed, show once more that it is you.", then: action});
}

// `proof` is null for a passkey.
async function finishFactor(proof) {
  const {flow_id, then} = waiting, device = passkeys(ac);
  const done = flow_id
    ? await (proof ? ac.auth.loginFactor(flow_id, proof) : device.loginFactor(flow_id))
    : await (proof ? ac.auth.stepUp(proof) : device.stepUp());
  waiting = null;
  byId("factor").reset();
  await goOn(done);
  if (then) await then();
}

async function addApp() {
  app = await ac.auth.addTotp(onTheWay());
  byId("app-secret").textContent = app.secret;
  byId("app-link").href = app.uri;
  show("app");
}

async function confirmApp(form) {
  const done = await ac.auth.confirmTotp(app.id, form.code.value, enrolling ?? undefined);
  form.reset();
  await goOn(done);
}

const adding = {passkey: addPasskey, totp: addApp};

// --- being signed in

function showCodes(codes) {
  byId("recovery-codes").replaceChildren(...codes.map((code) => {
    const item = document.createElement("li");
    item.textContent = code;
    return item;
  }));
  show("recovery");
}

async function showAccount() {
  const {aal, amr} = await ac.auth.claims(), {email} = await ac.auth.user();
  byId("who").textContent = `Signed in as ${email}.`;
  byId("level").textContent = `Level ${aal}, by ${amr.join(" and ")}.`;
  show("account");
  await listFactors();
}

async function listFactors() {
  const {factors, recovery_codes_left} = await ac.auth.factors();
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
    await ac.auth.removeFactor(factor.id);
    await listFactors();
  });
  item.append(name, button);
  return item;
}

async function begin() {
  flow = waiting = enrolling = app = null;
  if (!ac) return show("connect");
  if (await ac.auth.session()) return showAccount();
  show("enter");
  await findMethods();
}

function connect() {
  ac?.close();
  ac = settings.url && settings.key ? createClient(settings) : null;
  // Here, or in another tab; or the session has ended.
  ac?.auth.onChange((event) => event === "signed_out" && trying(begin));
}

byId("connect").onsubmit = (event) => {
  event.preventDefault();
  settings = {url: event.target.service.value, key: event.target.key.value.trim()};
  localStorage.setItem(SETTINGS, JSON.stringify(settings));
  trying(() => { connect(); return begin(); });
};
byId("enter").onsubmit = (event) => {
  event.preventDefault();
  const way = event.submitter?.value ?? "login";
  trying(() => enter(way, event.target));
};
byId("mailed").onsubmit = (event) => {
  event.preventDefault();
  trying(async () => goOn(await ac.auth.confirm({flow_id: flow, code: event.target.code.value})));
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
byId("by-passkey").onclick = () => trying(async () => goOn(await passkeys(ac).login()));
byId("factor-passkey").onclick = () => trying(() => finishFactor(null));
byId("new-codes").onclick = () => trying(async () => showCodes(await ac.auth.recoveryCodes()));
byId("kept").onclick = () => { byId("recovery-codes").replaceChildren(); trying(showAccount); };
byId("elsewhere").onclick = () => { settings = {}; localStorage.removeItem(SETTINGS); connect(); trying(begin); };
byId("sign-out").onclick = () => trying(() => ac.auth.logout());
document.querySelectorAll("[data-back]").forEach((button) => button.onclick = () => trying(begin));
document.querySelectorAll("[data-add]").forEach((button) => button.onclick = () => trying(adding[button.dataset.add]));

if (given.has("service")) localStorage.setItem(SETTINGS, JSON.stringify(settings));
trying(async () => {
  connect();
  try {
    // What a link or a provider brought is good once, and is not kept in the address.
    const done = await ac?.auth.completeRedirect();
    if (done) return goOn(done);
  } catch (problem) {
    await begin();
    throw problem;
  }
  await begin();
});
