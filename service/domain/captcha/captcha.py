"""The CAPTCHA of a project: a challenge for a flow, and the judgement of a token that a page sends."""

import asyncio
from urllib.parse import urlencode

import structlog

from service.bounds import MAX_CAPTCHA_TOKEN
from service.domain.captcha.altcha import new_challenge, read_solution
from service.domain.projects.lookup import Project
from service.domain.projects.secrets import SecretBox
from service.errors import CaptchaFailed, CaptchaOff
from service.observe.metrics import CAPTCHA_CHECKS
from service.outbound.fetching import FetchFailed, Outbound
from service.storage.used_challenges import UsedChallenges

log = structlog.get_logger()

ALTCHA = "altcha"
SITEVERIFY = {
    "turnstile": "https://challenges.cloudflare.com/turnstile/v0/siteverify",
    "hcaptcha": "https://api.hcaptcha.com/siteverify",
}
TOTAL_SECONDS = 3.0


class Captcha:
    """Judges tokens. A provider that does not answer refuses all: a broken check must not open the door."""

    def __init__(self, secret_box: SecretBox, used: UsedChallenges, outbound: Outbound) -> None:
        self._secret_box = secret_box
        self._used = used
        self._outbound = outbound

    def challenge(self, project: Project, flow: str) -> dict[str, object]:
        """A challenge of the project for a flow of CAPTCHA_ON. Raises CaptchaOff."""
        if project.settings.captcha != ALTCHA or flow not in project.settings.captcha_on:
            raise CaptchaOff
        return new_challenge(self._key(project, flow), project.id, flow)

    async def check(self, project: Project, flow: str, token: str) -> None:
        """Raises CaptchaFailed, where the project asks for a CAPTCHA in this flow and the token is no good one."""
        settings = project.settings
        if settings.captcha == "off" or flow not in settings.captcha_on:
            return
        is_good = 0 < len(token) <= MAX_CAPTCHA_TOKEN and await self._judge(project, flow, token)
        CAPTCHA_CHECKS.labels("passed" if is_good else "failed").inc()
        if not is_good:
            raise CaptchaFailed

    async def _judge(self, project: Project, flow: str, token: str) -> bool:
        if project.settings.captcha != ALTCHA:
            return await self._ask(project, token)
        # To derive the key takes 2 ms, without the lock of the interpreter.
        challenge = await asyncio.to_thread(read_solution, token, self._key(project, flow))
        return challenge is not None and await self._used.spend(project.id, challenge.nonce, challenge.expires_at)

    async def _ask(self, project: Project, token: str) -> bool:
        settings = project.settings
        secret = settings.captcha_secret.get_secret_value() if settings.captcha_secret else ""
        deadline = asyncio.get_running_loop().time() + TOTAL_SECONDS
        form = urlencode({"secret": secret, "response": token})
        try:
            answer = await self._outbound.post_form(SITEVERIFY[settings.captcha], form, deadline=deadline, headers={})
        except FetchFailed as error:
            log.warning("a CAPTCHA cannot be checked", kind=settings.captcha, reason=str(error))
            return False
        return answer.get("success") is True and answer.get("hostname") in settings.captcha_hosts

    def _key(self, project: Project, flow: str) -> bytes:
        return self._secret_box.derive_key(f"captcha/{project.id}/{flow}")
