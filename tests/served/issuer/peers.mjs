// Libraries that know nothing but the issuer: each answers with the `sub` that it read, or with the name of its refusal.
import { createRemoteJWKSet, jwtVerify } from "jose";
import * as openid from "openid-client";

const [issuer, audience, key, token] = process.argv.slice(2);
const found = {};

const metadata = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
const keys = createRemoteJWKSet(new URL(metadata.jwks_uri));
const read = async (text) => (await jwtVerify(text, keys, { issuer: metadata.issuer, audience, algorithms: ["ES256"] })).payload.sub;
found.jose = await read(token);
found.refused = await read(`${token.slice(0, -4)}AAAA`).catch((error) => error.code);

for (const algorithm of ["oidc", "oauth2"]) {
  const options = { algorithm, execute: [openid.allowInsecureRequests] };
  const config = await openid.discovery(new URL(issuer), audience, undefined, openid.ClientSecretBasic(key), options);
  const answer = await openid.tokenIntrospection(config, token);
  found[algorithm] = answer.sub;
  found[`${algorithm} dead`] = (await openid.tokenIntrospection(config, "x")).active;
}
console.log(JSON.stringify(found));
