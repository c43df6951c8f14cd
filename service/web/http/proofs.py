"""Second factors in bodies."""

from typing import Annotated

from pydantic import BaseModel, Field

from service.domain.accounts.factor_proofs import Proof, RecoveryCode, TotpCode
from service.errors import Invalid

EXAMPLE_CODE = "492039"
EXAMPLE_RECOVERY_CODE = "MZXW-6YTB-OJRG-C4TB-PJUW-4ZY2"
MAX_PROOF = 64
# By their names in a form.
WAYS = ("totp", "recovery_code")

Digits = Annotated[
    str, Field(max_length=MAX_PROOF, examples=[EXAMPLE_CODE], description="The six digits that the app shows")
]
OneRecoveryCode = Annotated[
    str,
    Field(max_length=MAX_PROOF, examples=[EXAMPLE_RECOVERY_CODE], description="However it is grouped; good once"),
]


def read_proof(totp: str | None, recovery_code: str | None) -> Proof:
    """The proof of a form that has exactly one of the two."""
    return RecoveryCode(recovery_code) if recovery_code is not None else TotpCode(totp or "")


def check_one(form: BaseModel, names: tuple[str, ...], loc: tuple[str, ...] = ("body",)) -> None:
    """Raises Invalid where none of the fields is there, or more than one."""
    if sum(getattr(form, name) is not None for name in names) != 1:
        raise Invalid.one(loc, f"Send exactly one of {', '.join(names)}", type_="value_error")
