"""CAPTCHAs: proofs of work of our own, and the tokens of Turnstile and hCaptcha."""

from service.domain.captcha.captcha import Captcha
from service.domain.projects import Foundation
from service.outbound.fetching import Outbound
from service.storage.used_challenges import UsedChallenges


def build_captcha(base: Foundation, outbound: Outbound) -> Captcha:
    return Captcha(base.secret_box, UsedChallenges(base.databases), outbound)
