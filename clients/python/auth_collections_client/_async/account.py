"""The signed-in user: profile, password, sessions, second factors and identities."""

from typing import Any, Generic, Unpack

from auth_collections_client._async.sign_in_calls import AUTH, AsyncSignIns, Proof
from auth_collections_client._generics import U
from auth_collections_client.answers import Answer
from auth_collections_client.calls import Call, Options, if_match, post, present, read
from auth_collections_client.encoding import segment
from auth_collections_client.results import MailSent, UserRecord, read_user
from auth_collections_client.sessions import RedirectUrl, challenge_of, make_verifier_text
from auth_collections_client.sign_ins import SignIn, mail_sent
from auth_collections_client.writes import Fields, Progress, Version, write

USER = f"{AUTH}/user"
FACTORS = f"{USER}/factors"
IDENTITIES = f"{USER}/identities"
condition = if_match


class AsyncAccount(AsyncSignIns, Generic[U]):
    """Calls of the signed-in user. Some need a sign-in or a `step_up` of the last ten minutes."""

    async def user(self, **options: Unpack[Options]) -> UserRecord[U]:
        """Returns the profile, with its `version`."""
        return _record(await self._transport.send(read(USER, options=options)))

    async def update_user(
        self,
        fields: Fields,
        *,
        if_match: Version = None,
        on_progress: Progress | None = None,
        **options: Unpack[Options],
    ) -> UserRecord[U]:
        """Sets fields of the profile and leaves the others."""
        call = write(
            "PUT",
            USER,
            fields,
            repeat="safe" if if_match is None else "once",
            headers=condition(if_match),
            on_progress=on_progress,
            is_wrapped=False,
            options=options,
        )
        answer = await self._transport.send(call)
        self._keeper.announce("user_changed", await self._keeper.read())
        return _record(answer)

    async def upgrade(self, email: str, password: str | None = None, **options: Unpack[Options]) -> SignIn:
        """Gives an anonymous user an account; its id, its data and its documents stay."""
        body = present({"email": email, "password": password})
        return await self._sign_in(post(f"{USER}/upgrade", body, options=options), replaces=True)

    async def change_password(self, old: str | None, new: str, **options: Unpack[Options]) -> SignIn:
        """Sets another password. All sessions end, and a new one takes the place of this one."""
        body = present({"current_password": old, "password": new})
        return await self._sign_in(post(f"{USER}/password", body, options=options), replaces=True)

    async def change_email(
        self, email: str, *, redirect_to: str | None = None, locale: str | None = None, **options: Unpack[Options]
    ) -> MailSent:
        body = present({"email": email, "redirect_to": redirect_to, "locale": locale})
        return mail_sent(await self._transport.send(post(f"{USER}/email", body, options=options)))

    async def delete_user(self, **options: Unpack[Options]) -> None:
        """Deletes the account and forgets the session."""
        await self._transport.send(Call("DELETE", USER, options=options))
        await self._keeper.put(None, "signed_out")

    async def step_up(self, proof: Proof, **options: Unpack[Options]) -> SignIn:
        """Recognizes the user again, by `{"password"}`, `{"totp"}` or `{"recovery_code"}`."""
        return await self._sign_in(post(f"{USER}/step-up", proof, options=options), replaces=True)

    async def sessions(self, **options: Unpack[Options]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self._json(read(f"{USER}/sessions", options=options)))["sessions"]
        return found

    async def end_session(self, id: str, **options: Unpack[Options]) -> None:
        await self._transport.send(Call("DELETE", f"{USER}/sessions/{segment(id)}", repeat="safe", options=options))

    async def end_other_sessions(self, **options: Unpack[Options]) -> None:
        await self._transport.send(Call("DELETE", f"{USER}/sessions", repeat="safe", options=options))

    async def events(
        self,
        *,
        type: str | None = None,
        since: Any = None,
        until: Any = None,
        limit: int | None = None,
        offset: int | None = None,
        **options: Unpack[Options],
    ) -> dict[str, Any]:
        query = {"type": type, "since": since, "until": until, "limit": limit, "offset": offset}
        return await self._object(read(f"{USER}/events", query, options=options))

    async def factors(self, **options: Unpack[Options]) -> dict[str, Any]:
        return await self._object(read(FACTORS, options=options))

    async def add_totp(
        self, name: str | None = None, flow_id: str | None = None, **options: Unpack[Options]
    ) -> dict[str, Any]:
        """Returns `{"id", "secret", "uri"}` of an authenticator app, which `confirm_totp` confirms."""
        body = present({"name": name, "flow_id": flow_id})
        return await self._object(post(f"{FACTORS}/totp", body, credential="both", options=options))

    async def confirm_totp(
        self,
        id: str,
        code: str,
        flow_id: str | None = None,
        **options: Unpack[Options],
    ) -> SignIn:
        body = present({"code": code, "flow_id": flow_id})
        path = f"{FACTORS}/totp/{segment(id)}/confirm"
        return await self._sign_in(post(path, body, credential="both", options=options), replaces=True)

    async def rename_factor(self, id: str, name: str, **options: Unpack[Options]) -> dict[str, Any]:
        path = f"{FACTORS}/{segment(id)}"
        return await self._object(post(path, {"name": name}, method="PATCH", repeat="safe", options=options))

    async def remove_factor(self, id: str, **options: Unpack[Options]) -> None:
        await self._transport.send(Call("DELETE", f"{FACTORS}/{segment(id)}", repeat="safe", options=options))

    async def recovery_codes(self, **options: Unpack[Options]) -> list[str]:
        """Makes recovery codes, which are shown once; older ones are void."""
        made = await self._json(Call("POST", f"{USER}/recovery-codes", options=options))
        codes: list[str] = made["recovery_codes"]
        return codes

    async def identities(self, **options: Unpack[Options]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self._json(read(IDENTITIES, options=options)))["identities"]
        return found

    async def link_provider(
        self,
        provider: str,
        *,
        redirect_to: str | None = None,
        client_state: str | None = None,
        **options: Unpack[Options],
    ) -> RedirectUrl:
        """Returns the URL to which the browser goes. Keep its `verifier` for `confirm_link`."""
        verifier = make_verifier_text()
        body = {"provider": provider, "redirect_to": redirect_to, "client_state": client_state}
        asked = present({**body, "code_challenge": challenge_of(verifier)})
        return RedirectUrl.of((await self._json(post(IDENTITIES, asked, options=options)))["url"], verifier)

    async def confirm_link(self, code: str, verifier: str, **options: Unpack[Options]) -> dict[str, Any]:
        body = {"code": code, "code_verifier": verifier}
        return await self._object(post(f"{IDENTITIES}/confirm", body, options=options))

    async def unlink(self, id: str, **options: Unpack[Options]) -> None:
        await self._transport.send(Call("DELETE", f"{IDENTITIES}/{segment(id)}", repeat="safe", options=options))

    async def _object(self, call: Call) -> dict[str, Any]:
        found: dict[str, Any] = await self._json(call)
        return found


def _record(answer: Answer) -> UserRecord[Any]:
    return read_user(answer.body, answer.etag)
