"""The declarations of web/sign_in: specification sections 4.2, 5.2 and 7.2."""

from dataclasses import replace

from service.errors import (
    AccountDisabled,
    Busy,
    ConfigurationMissing,
    EmailOfPasswordUser,
    IdentityInUse,
    IdentityLimit,
    IdentityNotFound,
    InvalidCode,
    InvalidIdToken,
    LastSignInMethod,
    NoEmail,
    ProjectNotFound,
    ProviderNotFound,
    SignInFailed,
    StepUpRequired,
    Unavailable,
)
from service.web.accounts.openapi import SECOND_FACTORS, SIGNED_IN
from service.web.http.urlencoded import URLENCODED
from service.web.openapi import tags
from service.web.openapi.declaration import Content, ErrorExample, Operation, Parameter, SuccessResponse
from service.web.openapi.path_parameters import PATH_PARAMETERS
from service.web.openapi.shapes import EXAMPLE_ID, EXAMPLE_TIME
from service.web.sign_in.bodies import (
    EXAMPLE_CHALLENGE,
    EXAMPLE_SVC_CODE,
    EXAMPLE_VERIFIER,
    IdentityLinkForm,
    IdentityList,
    IdentityView,
    IdTokenForm,
    LinkProofForm,
    NativeStartView,
    ProviderForm,
    SignInMethodsView,
    TokenForm,
)
from service.web.sign_in.endpoints import CHALLENGE, PARAMETERS, AuthorizationUrl

EXAMPLE_URL = "https://provider.example/authorize?response_type=code&client_id=app&state=Yk3v"
PAGE = Content(schema={"type": "string"}, media_type="text/html")
ENDINGS: tuple[type[SignInFailed], ...] = (SignInFailed, *SignInFailed.__subclasses__())
CODES = ", ".join(f"`{ending.code}`" for ending in ENDINGS)

LOGIN = Operation(
    id="loginIdp",
    tag=tags.SIGN_IN,
    description="The project is the one of the API key, else the one named, else the service's DEFAULT_PROJECT_ID. Send the "
    "browser to `url`.",
    parameters=(
        Parameter(
            name="project_id",
            description="The project, where no API key is sent.",
            schema=PATH_PARAMETERS["project_id"]["schema"],
        ),
        Parameter(
            name="client_state",
            description="Comes back to the project's page with the token or the error code.",
            schema={"type": "string", "minLength": 1, "maxLength": PARAMETERS["client_state"]},
            example="/basket",
        ),
        Parameter(
            name="provider",
            description="One of the project's providers; without it that of the IDP settings.",
            schema={"type": "string", "minLength": 1, "maxLength": PARAMETERS["provider"]},
            example="google",
        ),
        Parameter(
            name="code_challenge",
            description="The SHA-256, in base64url, of a verifier that the page keeps (RFC 7636). The page is given `svc-code` "
            "then, and no token.",
            schema={"type": "string", "pattern": f"^{CHALLENGE.pattern}$"},
            example=EXAMPLE_CHALLENGE,
        ),
        Parameter(
            name="redirect_to",
            description="One of the project's REDIRECT_URLS, in place of its IDP_COMPLETE_URL; with a `code_challenge` only.",
            schema={"type": "string", "minLength": 1, "maxLength": PARAMETERS["redirect_to"]},
        ),
    ),
    answers=(
        SuccessResponse(
            description="Where to send the browser",
            content=(
                Content(
                    type=AuthorizationUrl,
                    examples={"a provider": {"url": EXAMPLE_URL}},
                ),
            ),
            headers={"Set-Cookie": "Binds the sign-in to this browser, where one asks over https"},
        ),
    ),
    errors=(ErrorExample(ConfigurationMissing, "IDP_CLIENT_ID key missing"), ProjectNotFound, ProviderNotFound, Busy),
)
CALLBACK = Operation(
    id="authIdpRedirect",
    tag=tags.SIGN_IN,
    description="Browsers come here from the provider. They go on to the project's IDP_COMPLETE_URL with `svc-super-token`, "
    f"an access token, with `svc-code` where the sign-in began with a challenge, or with `svc-error`: {CODES}.",
    parameters=tuple(
        Parameter(name=name, description=text, schema={"type": "string"})
        for name, text in (
            ("code", "The authorization code."),
            ("state", "What the authorization URL carried."),
            ("iss", "The issuer (RFC 9207)."),
            ("error", "Why the provider refused (RFC 6749 section 4.1.2.1)."),
        )
    ),
    answers=(
        SuccessResponse(
            status=302,
            description="To the project's page, with a token or an error code",
            headers={"Location": "IDP_COMPLETE_URL with `svc-super-token` or `svc-error`"},
        ),
    ),
    errors=(ErrorExample(ConfigurationMissing, "IDP_COMPLETE_URL key missing"), ProjectNotFound, Unavailable),
)
SHORT_CALLBACK = replace(CALLBACK, id="authIdpRedirectWithoutPrefix")
PROVIDER_CALLBACK = replace(
    CALLBACK,
    id="authIdpRedirectOfProvider",
    description=f"The redirect URL of one of the project's providers, each its own. {CALLBACK.description}",
    errors=(*CALLBACK.errors, ProviderNotFound),
)
TOKEN = Operation(
    id="exchangeCode",
    tag=tags.SIGN_IN,
    description="A `svc-code` is good for 60 seconds and once, also where the verifier is wrong.",
    body=(Content(type=TokenForm, examples={"a code": {"code": EXAMPLE_SVC_CODE, "code_verifier": EXAMPLE_VERIFIER}}),),
    answers=(SuccessResponse(description="The user's token", content=(SIGNED_IN,)),),
    errors=(InvalidCode, *SECOND_FACTORS, AccountDisabled),
)
POSTED_CALLBACK = Operation(
    id="postedCallback",
    tag=tags.SIGN_IN,
    description="Browsers come here from a provider that has them post its answer as a form. Where the project binds sign-ins "
    "to browsers, the first answer is a page that posts the same once more, with the cookie.",
    body=(
        Content(
            schema={
                "type": "object",
                "properties": {name: {"type": "string"} for name in ("state", "code", "iss", "error", "user")},
            },
            media_type=URLENCODED,
        ),
    ),
    answers=(
        SuccessResponse(description="A page that posts the form again", content=(PAGE,)),
        SuccessResponse(
            status=302,
            description="To the project's page, with a token, a code or an error code",
            headers={"Location": "The project's page"},
        ),
        SuccessResponse(status=405, description="This provider has no form posted"),
    ),
    errors=(ErrorExample(ConfigurationMissing, "IDP_COMPLETE_URL key missing"), ProjectNotFound, ProviderNotFound),
)
BEGIN_NATIVE = Operation(
    id="beginIdTokenLogin",
    tag=tags.SIGN_IN,
    description="The app has the provider put the nonce, or its SHA-256 in hex, into the ID token. Good for ten minutes.",
    body=(Content(type=ProviderForm, examples={"a provider": {"provider": "apple"}}),),
    answers=(
        SuccessResponse(
            description="The nonce",
            content=(
                Content(
                    type=NativeStartView,
                    examples={"a nonce": {"flow_id": EXAMPLE_SVC_CODE, "nonce": EXAMPLE_VERIFIER}},
                ),
            ),
        ),
    ),
    errors=(ErrorExample(ConfigurationMissing, "CLIENT_ID key missing"), ProviderNotFound),
)
LOGIN_ID_TOKEN = Operation(
    id="loginIdToken",
    tag=tags.SIGN_IN,
    description="An ID token is good once, with a nonce that was given out here.",
    body=(
        Content(
            type=IdTokenForm,
            examples={
                "a token": {"flow_id": EXAMPLE_SVC_CODE, "id_token": "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"}
            },
        ),
    ),
    answers=(SuccessResponse(description="The user's token", content=(SIGNED_IN,)),),
    errors=(InvalidIdToken, NoEmail, EmailOfPasswordUser, *SECOND_FACTORS, AccountDisabled, Unavailable, Busy),
)
EXAMPLE_IDENTITY = {
    "id": EXAMPLE_ID,
    "provider": "google",
    "email": "ann@gmail.com",
    "created_at": EXAMPLE_TIME,
    "last_used_at": None,
}
LIST_IDENTITIES = Operation(
    id="listIdentities",
    tag=tags.SIGN_IN,
    answers=(
        SuccessResponse(
            description="The user's identities, in the order in which they came",
            content=(Content(type=IdentityList, examples={"one": {"identities": [EXAMPLE_IDENTITY]}}),),
        ),
    ),
)
LINK_IDENTITY = Operation(
    id="linkIdentity",
    tag=tags.SIGN_IN,
    description="For ten minutes after a sign-in or a step-up. Send the browser to `url`; it comes back with `svc-code`, or "
    "with `svc-error` as a sign-in does. Nothing is linked before `/auth-collections/user/identities/confirm`.",
    body=(
        Content(
            type=IdentityLinkForm, examples={"a provider": {"provider": "google", "code_challenge": EXAMPLE_CHALLENGE}}
        ),
    ),
    answers=(
        SuccessResponse(
            description="Where to send the browser",
            content=(Content(type=AuthorizationUrl, examples={"a provider": {"url": EXAMPLE_URL}}),),
            headers={"Set-Cookie": "Binds the flow to this browser, where one asks over https"},
        ),
    ),
    errors=(ErrorExample(ConfigurationMissing, "CLIENT_SECRET key missing"), ProviderNotFound, Busy),
)
CONFIRM_IDENTITY = Operation(
    id="confirmIdentity",
    tag=tags.SIGN_IN,
    description="With a token of the user who asked for it: whoever was sent into the flow of somebody else links nothing. A "
    "code is good for 60 seconds and once, whatever comes of it.",
    body=(
        Content(type=LinkProofForm, examples={"a code": {"code": EXAMPLE_SVC_CODE, "code_verifier": EXAMPLE_VERIFIER}}),
    ),
    answers=(
        SuccessResponse(
            status=201,
            description="The identity, with which the user can sign in from now on",
            content=(Content(type=IdentityView, examples={"linked": EXAMPLE_IDENTITY}),),
        ),
    ),
    errors=(InvalidCode, IdentityInUse, IdentityLimit, IdentityNotFound, StepUpRequired),
)
REMOVE_IDENTITY = Operation(
    id="removeIdentity",
    tag=tags.SIGN_IN,
    description="For ten minutes after a sign-in or a step-up. The last way to sign in stays: of passwords, identities and "
    "passkeys. Sessions go on.",
    answers=(SuccessResponse(status=204, description="Nobody signs in to this account with it any more"),),
    errors=(IdentityNotFound, LastSignInMethod),
)
SIGN_IN_METHODS = Operation(
    id="signInMethods",
    tag=tags.SIGN_IN,
    description="What a page needs for its buttons. The project is found as for `/auth-collections/login-idp`.",
    parameters=(LOGIN.parameters[0],),
    answers=(
        SuccessResponse(
            description="The ways to sign in",
            content=(
                Content(
                    type=SignInMethodsView,
                    examples={
                        "two": {
                            "password": True,
                            "email": True,
                            "passkey": False,
                            "providers": [{"id": "google", "name": "Google"}],
                        }
                    },
                ),
            ),
        ),
    ),
    errors=(ProjectNotFound,),
)
