# Written by clients/python/unasync from _async: change that.
"""Every way to sign up and in."""

from collections.abc import Mapping
from typing import Any, Unpack

from auth_collections_client._sync.flows import Flows
from auth_collections_client.calls import Options, post, present, read
from auth_collections_client.results import MailSent
from auth_collections_client.sessions import RedirectUrl, challenge_of, make_verifier_text
from auth_collections_client.sign_ins import SignIn, mail_sent, read_redirect
from auth_collections_client.writes import Progress, write

AUTH = "/auth-collections"
Proof = Mapping[str, Any]


class SignIns(Flows):
    """A sign-in's result says if a second factor or a mail is still needed; all else that goes wrong is raised."""

    def signup(self, email: str, password: str, *, on_progress: Progress | None = None, **fields: Any) -> SignIn:
        """Makes an account; `fields` become the user's data, and a `File` among them is uploaded."""
        call = write(
            "POST",
            f"{AUTH}/signup",
            {"email": email, "password": password, **fields},
            repeat="keyed",
            credential="key",
            on_progress=on_progress,
            is_wrapped=False,
            options={},
        )
        return self._sign_in(call)

    def signup_anonymous(self, data: Mapping[str, Any] | None = None, **options: Unpack[Options]) -> SignIn:
        """Makes a user without an address. The project has them with `ANONYMOUS`."""
        return self._login("signup-anonymous", data or {}, options)

    def login(self, who: str | Proof, password: str, **options: Unpack[Options]) -> SignIn:
        """Signs in by the address, or by `{"username": ...}` where the project has user names."""
        named = {"email": who} if isinstance(who, str) else who
        return self._login("login", {**named, "password": password}, options)

    def login_factor(self, flow_id: str, proof: Proof, **options: Unpack[Options]) -> SignIn:
        """Completes a sign-in with `{"totp": ...}` or `{"recovery_code": ...}`."""
        return self._login("login-factor", {"flow_id": flow_id, **proof}, options)

    def login_by_mail(
        self,
        email: str,
        *,
        redirect_to: str | None = None,
        locale: str | None = None,
        create: bool | None = None,
        **options: Unpack[Options],
    ) -> MailSent:
        """Asks for a mail with a code. With `redirect_to` it also has a link, whose `verifier` the result keeps."""
        verifier = make_verifier_text() if redirect_to else None
        challenge = challenge_of(verifier) if verifier else None
        body = {"email": email, "redirect_to": redirect_to, "locale": locale, "create": create}
        return self._mail("login-email", {**body, "code_challenge": challenge}, options, verifier)

    def confirm(self, proof: Proof, **options: Unpack[Options]) -> Any:
        """Proves an address by `{"flow_id", "code"}` or `{"token"}`: a sign-in, or the service's answer."""
        return self._settle(post(f"{AUTH}/confirm", proof, credential="both", options=options), replaces=True)

    def verify_email(
        self, email: str, *, redirect_to: str | None = None, locale: str | None = None, **options: Unpack[Options]
    ) -> MailSent:
        body = {"email": email, "redirect_to": redirect_to, "locale": locale}
        return self._mail("verify-email", body, options)

    def forgot_password(
        self, email: str, *, redirect_to: str | None = None, locale: str | None = None, **options: Unpack[Options]
    ) -> MailSent:
        body = {"email": email, "redirect_to": redirect_to, "locale": locale}
        return self._mail("forgot-password", body, options)

    def reset_password(self, proof: Proof, **options: Unpack[Options]) -> None:
        """Sets another password by `{"flow_id", "code", "password"}` or `{"token", "password"}`, with a `factor`."""
        self._json(post(f"{AUTH}/reset-password", proof, credential="key", options=options))

    def methods(self, **options: Unpack[Options]) -> dict[str, Any]:
        """Returns the ways to sign in that the project has."""
        found: dict[str, Any] = self._json(read(f"{AUTH}/sign-in-methods", credential="key", options=options))
        return found

    def login_provider(
        self,
        provider: str,
        *,
        redirect_to: str | None = None,
        client_state: str | None = None,
        **options: Unpack[Options],
    ) -> RedirectUrl:
        """Returns the URL to which the browser goes. Keep its `verifier` for `complete_redirect`."""
        verifier = make_verifier_text()
        query = {"provider": provider, "redirect_to": redirect_to, "client_state": client_state}
        asked = {**query, "code_challenge": challenge_of(verifier)}
        answer = self._json(read(f"{AUTH}/login-idp", asked, credential="key", options=options))
        return RedirectUrl.of(answer["url"], verifier)

    def complete_redirect(self, url: str, verifier: str, **options: Unpack[Options]) -> SignIn | None:
        """Completes the sign-in of the URL that the browser came back to; None where that brings nothing."""
        code = read_redirect(url)
        if code is None:
            return None
        return self._login("token", {"code": code, "code_verifier": verifier}, options)

    def login_id_token_begin(self, provider: str, **options: Unpack[Options]) -> dict[str, Any]:
        """Returns `{"flow_id", "nonce"}` of a sign-in with a provider's ID token."""
        body = {"provider": provider}
        call = post(f"{AUTH}/login-id-token/options", body, credential="key", options=options)
        found: dict[str, Any] = self._json(call)
        return found

    def login_id_token_finish(
        self, flow_id: str, id_token: str, name: str | None = None, **options: Unpack[Options]
    ) -> SignIn:
        return self._login("login-id-token", {"flow_id": flow_id, "id_token": id_token, "name": name}, options)

    def _login(self, path: str, body: Proof, options: Options) -> SignIn:
        return self._sign_in(post(f"{AUTH}/{path}", present(body), credential="key", options=options))

    def _mail(self, path: str, body: Proof, options: Options, verifier: str | None = None) -> MailSent:
        call = post(f"{AUTH}/{path}", present(body), credential="key", options=options)
        return mail_sent(self._transport.send(call), verifier)
