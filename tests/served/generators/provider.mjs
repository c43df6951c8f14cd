// A certified OpenID provider that nobody here wrote: `node provider.mjs PORT REDIRECT_URI...`. Its own pages sign anybody in.
import { Provider } from "oidc-provider";

const [port, ...redirects] = process.argv.slice(2);
const client = { client_secret: "secret-of-the-client", grant_types: ["authorization_code"], response_types: ["code"] };

const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [
    { ...client, client_id: "app", redirect_uris: redirects },
    { ...client, client_id: "phone", redirect_uris: ["https://phone.example/back"] },
  ],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
  conformIdTokenClaims: false,
  findAccount: (_, sub) => ({
    accountId: sub,
    claims: () => ({ sub, email: `${sub}@example.com`, email_verified: sub !== "mallory", name: "Ada Lovelace" }),
  }),
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
