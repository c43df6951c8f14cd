"""Bodies and answers of the endpoints of passkeys: the JSON forms of WebAuthn (level 3, sections 5.1.8 and 5.1.9).

Browsers send more than is read here, and will send more yet, so unknown members are ignored. The values that are read
are bounded before any of them is decoded.
"""

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from service.bounds import MAX_ATTESTATION_BYTES
from service.domain.accounts.passkeys import Asked
from service.errors import Invalid
from service.passkeys.answers import Assertion, PasskeyRegistration
from service.passkeys.options import decode

EXAMPLE_FLOW = "oHc4sJk2TqVbX7mPzR1yWg"
MAX_FLOW_ID, MAX_NAME = 64, 100
# In bytes: of a credential's id (WebAuthn's own bound), of what the browser and the device say, and of a signature.
MAX_ID, MAX_CLIENT_DATA, MAX_DATA, MAX_SIGNATURE, MAX_HANDLE = 1_023, 4_096, 2_048, 1_024, 64


def _base64url(bytes_: int, example: str, description: str) -> Any:
    longest = -(-bytes_ * 4 // 3)
    return Field(
        min_length=1,
        max_length=longest,
        pattern="^[A-Za-z0-9_-]+$",
        examples=[example],
        description=f"{description}, in base64url",
    )


CredentialId = Annotated[str, _base64url(MAX_ID, "cGFzc2tleQ", "The device's name for the passkey")]
ClientData = Annotated[str, _base64url(MAX_CLIENT_DATA, "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0", "What the browser says")]
AttestationText = Annotated[str, _base64url(MAX_ATTESTATION_BYTES, "o2NmbXRkbm9uZQ", "The new passkey")]
DeviceData = Annotated[str, _base64url(MAX_DATA, "SZYN5YgOjGh0NBcPZHZgW4", "What the device says")]
SignatureText = Annotated[str, _base64url(MAX_SIGNATURE, "MEUCIQ", "The signature of both")]
Handle = Annotated[str, _base64url(MAX_HANDLE, "aGFuZGxl", "Whose passkey it is")]
FlowId = Annotated[
    str, Field(min_length=1, max_length=MAX_FLOW_ID, examples=[EXAMPLE_FLOW], description="Of the options")
]
PasskeyName = Annotated[
    str, Field(min_length=1, max_length=MAX_NAME, pattern=r"^[^\x00-\x1f\x7f]*$", examples=["My laptop"])
]
EXAMPLE_NEW: dict[str, Any] = {
    "id": "cGFzc2tleQ",
    "rawId": "cGFzc2tleQ",
    "type": "public-key",
    "response": {"clientDataJSON": "eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0", "attestationObject": "o2NmbXRkbm9uZQ"},
}
EXAMPLE_USED: dict[str, Any] = {
    "id": "cGFzc2tleQ",
    "rawId": "cGFzc2tleQ",
    "type": "public-key",
    "response": {
        "clientDataJSON": "eyJ0eXBlIjoid2ViYXV0aG4uZ2V0In0",
        "authenticatorData": "SZYN5YgOjGh0NBcPZHZgW4",
        "signature": "MEUCIQ",
        "userHandle": "aGFuZGxl",
    },
}


class AttestationAnswer(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    clientDataJSON: ClientData  # noqa: N815 - the name that browsers send
    attestationObject: AttestationText  # noqa: N815 - the name that browsers send


class AssertionAnswer(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")

    clientDataJSON: ClientData  # noqa: N815 - the name that browsers send
    authenticatorData: DeviceData  # noqa: N815 - the name that browsers send
    signature: SignatureText
    userHandle: Handle | None = None  # noqa: N815 - the name that browsers send


class RegistrationCredential(BaseModel):
    """What `navigator.credentials.create()` gave, by its `toJSON()`."""

    model_config = ConfigDict(strict=True, extra="ignore")

    id: CredentialId
    response: AttestationAnswer

    def read(self) -> PasskeyRegistration:
        """Raises Invalid."""
        said = self.response
        return PasskeyRegistration(
            _decode("id", self.id),
            _decode("clientDataJSON", said.clientDataJSON),
            _decode("attestationObject", said.attestationObject),
        )


class AssertionCredential(BaseModel):
    """What `navigator.credentials.get()` gave, by its `toJSON()`."""

    model_config = ConfigDict(strict=True, extra="ignore")

    id: CredentialId
    response: AssertionAnswer

    def read(self) -> Assertion:
        """Raises Invalid."""
        said = self.response
        return Assertion(
            _decode("id", self.id),
            _decode("clientDataJSON", said.clientDataJSON),
            _decode("authenticatorData", said.authenticatorData),
            _decode("signature", said.signature),
            None if said.userHandle is None else _decode("userHandle", said.userHandle),
        )


def _decode(name: str, text: str) -> bytes:
    try:
        return decode(text)
    except ValueError:
        raise Invalid.one(("body", "credential", name), "Not base64url", type_="value_error") from None


class NothingForm(BaseModel):
    """Nothing is to be said."""

    model_config = ConfigDict(strict=True, extra="forbid")


class WaitingForm(BaseModel):
    """The sign-in that waits."""

    model_config = ConfigDict(strict=True, extra="forbid")

    flow_id: FlowId


class NewPasskeyOptionsForm(BaseModel):
    """`flow_id` is for whoever must have a second factor to sign in, in the place of a user token."""

    model_config = ConfigDict(strict=True, extra="forbid")

    flow_id: FlowId | None = None


class NewPasskeyForm(BaseModel):
    """The browser's answer, and what the user calls the device."""

    model_config = ConfigDict(strict=True, extra="forbid")

    flow_id: FlowId
    credential: RegistrationCredential
    name: PasskeyName | None = None


class LoginPasskeyForm(BaseModel):
    """The browser's answer."""

    model_config = ConfigDict(strict=True, extra="forbid")

    flow_id: FlowId
    credential: AssertionCredential


class KnownCredential(TypedDict):
    type: Literal["public-key"]
    id: CredentialId


class PartyView(TypedDict):
    id: Annotated[str, Field(description="The project's WEBAUTHN_RP_ID", examples=["example.com"])]
    name: str


class OwnerView(TypedDict):
    id: Handle
    name: str
    displayName: str


class KeyKind(TypedDict):
    type: Literal["public-key"]
    alg: int


class Selection(TypedDict):
    residentKey: Literal["required"]
    requireResidentKey: bool
    userVerification: Literal["required"]


class CreationOptions(TypedDict):
    rp: PartyView
    user: OwnerView
    challenge: str
    pubKeyCredParams: list[KeyKind]
    timeout: int
    excludeCredentials: list[KnownCredential]
    authenticatorSelection: Selection
    attestation: Literal["none"]


class RequestOptions(TypedDict):
    challenge: str
    timeout: int
    rpId: str
    allowCredentials: list[KnownCredential]
    userVerification: Literal["required"]


class NewPasskeyOptions(TypedDict):
    flow_id: FlowId
    publicKey: CreationOptions


class PasskeyOptions(TypedDict):
    flow_id: FlowId
    publicKey: RequestOptions


def options_view(asked: Asked) -> PasskeyOptions:
    return cast(PasskeyOptions, {"flow_id": asked.flow_id, "publicKey": asked.options})


def creation_view(asked: Asked) -> NewPasskeyOptions:
    return cast(NewPasskeyOptions, {"flow_id": asked.flow_id, "publicKey": asked.options})
