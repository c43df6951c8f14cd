"""A project's clients at its identity providers, put together from the project's settings and the environment's."""

from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from service.domain.projects.lookup import Project
from service.domain.projects.provider_administration import redirect_url
from service.domain.projects.providers import DEFAULT, Provider, ProviderSettings
from service.domain.projects.settings import ProjectSettings, read_kept_claims
from service.errors import ConfigurationMissing, Invalid, ProviderNotFound
from service.providers import Endpoints, Registration, is_allowed_url
from service.providers.openid import TENANT
from service.providers.registration import NO_QUIRKS, Quirks, SigningSecret, is_loopback

FORM_POST = "form_post"
SIGNED = "signed"


@dataclass(frozen=True, slots=True)
class ProviderDefaults:
    """The environment's settings of the provider, for projects without their own."""

    issuer: str | None = None
    authorize_url: str | None = None
    token_url: str | None = None
    userinfo_url: str | None = None
    scopes: str = "openid email profile"


class ProviderClients:
    """The provider clients of all projects; providers redirect browsers to `base_url`."""

    def __init__(self, defaults: ProviderDefaults, base_url: str) -> None:
        self._defaults = defaults
        self._base_url = base_url

    def find(self, project: Project, provider: str | None) -> Registration:
        """The client at the provider of that name; without one, at that of the IDP settings.

        Raises ProviderNotFound, and ConfigurationMissing as `registration_of` does.
        """
        if provider is None:
            return registration_of(project.settings, self._defaults)
        return named_registration(project, provider, self._base_url)

    def usable(self, project: Project) -> dict[str, str]:
        """Name → what people call it, of the providers at which a browser can sign in: those that miss no setting."""
        names: dict[str | None, str] = {None: DEFAULT}
        names |= {name: provider.title for name, provider in project.providers.items()}
        found: dict[str, str] = {}
        for name, title in names.items():
            with suppress(ConfigurationMissing):
                self.find(project, name)
                found[name or DEFAULT] = title
        return found

    def find_native(self, project: Project, provider: str) -> Registration:
        """The client whose ID tokens apps of the project send.

        Raises ProviderNotFound, ConfigurationMissing, and Invalid for a provider without ID tokens.
        """
        registration = named_registration(project, provider, self._base_url, is_native=True)
        if isinstance(registration.provider, Endpoints):
            raise Invalid.one(("body", "provider"), "This provider has no ID tokens")
        return registration


def registration_of(settings: ProjectSettings, defaults: ProviderDefaults) -> Registration:
    """The client that `settings` describe.

    Raises ConfigurationMissing with '<KEY> key missing' (specification 5.2) for the first setting that is not there, or
    with what is wrong with a URL.
    """
    secret = settings.idp_client_secret
    client_id = _required("IDP_CLIENT_ID", settings.idp_client_id)
    client_secret = _required("IDP_CLIENT_SECRET", secret.get_secret_value() if secret else None)
    redirect_url = _required("IDP_REDIRECT_URL", settings.idp_redirect_url)
    _required("IDP_COMPLETE_URL", settings.idp_complete_url)
    return Registration(
        client_id=client_id,
        client_secret=client_secret,
        redirect_url=redirect_url,
        scopes=settings.idp_scopes or defaults.scopes,
        provider=_issuer(settings, defaults) or _endpoints(settings, defaults),
        client_auth=settings.idp_client_auth,
        kept_claims=settings.kept_claims,
    )


def named_registration(project: Project, name: str, base_url: str, *, is_native: bool = False) -> Registration:
    """The client at one of the project's providers. Raises ProviderNotFound, and ConfigurationMissing for a missing
    setting.

    A native one sends no requests of its own, so it has no secret.
    """
    provider = project.providers.get(name)
    if provider is None:
        raise ProviderNotFound
    if not is_native:
        completion_page(project, name)
    settings, preset = provider.settings, provider.preset
    quirks = _quirks(provider, is_native=is_native)
    secret = settings.client_secret.get_secret_value() if settings.client_secret else None
    return Registration(
        client_id=_required("CLIENT_ID", settings.client_id),
        client_secret="" if is_native or quirks.secret else _required("CLIENT_SECRET", secret),
        redirect_url=redirect_url(base_url, project.id, name),
        scopes=settings.scopes or preset.scopes,
        provider=_place(provider),
        client_auth=settings.client_auth or preset.client_auth,
        name=name,
        quirks=NO_QUIRKS if quirks == NO_QUIRKS else quirks,
        kept_claims=read_kept_claims(settings.profile_claims) or project.settings.kept_claims,
    )


def _place(provider: Provider) -> str | Endpoints:
    settings, preset = provider.settings, provider.preset
    issuer = settings.issuer or preset.issuer
    if preset.kind == "openid":
        tenants = settings.tenants
        return _required("ISSUER", issuer).replace(TENANT, tenants[0] if len(tenants) == 1 else TENANT)
    return Endpoints(
        authorize=_required("AUTHORIZE_URL", settings.authorize_url or preset.authorize_url),
        token=_required("TOKEN_URL", settings.token_url or preset.token_url),
        userinfo=_required("USERINFO_URL", settings.userinfo_url or preset.userinfo_url),
        issuer=issuer,
    )


def _quirks(provider: Provider, *, is_native: bool) -> Quirks:
    settings, preset = provider.settings, provider.preset
    mode = settings.response_mode or preset.response_mode
    return Quirks(
        # A project's own issuer has no other names that anybody knows of.
        issuers=() if settings.issuer else preset.issuers,
        tenants=settings.tenants,
        audiences=settings.audiences,
        response_mode=FORM_POST if mode == FORM_POST else None,
        emails_path=preset.emails_path,
        claims=preset.claims,
        true_values=preset.true_values,
        has_userinfo=preset.has_userinfo,
        trust=preset.trust,
        secret=None if is_native or preset.secret != SIGNED else _signing_secret(settings),
        posts_name=preset.posts_name,
    )


def _signing_secret(settings: ProviderSettings) -> SigningSecret:
    key = settings.private_key.get_secret_value() if settings.private_key else None
    return SigningSecret(
        _required("TEAM_ID", settings.team_id), _required("KEY_ID", settings.key_id), _required("PRIVATE_KEY", key)
    )


def completion_page(project: Project, provider: str | None) -> str:
    """The page to which the browser goes in the end. Raises ConfigurationMissing, and ProviderNotFound for an unknown
    provider.

    A project without a provider in its IDP settings may have no page there either: then it is the first of
    REDIRECT_URLS.
    """
    settings = project.settings
    if provider is None:
        return _required("IDP_COMPLETE_URL", settings.idp_complete_url)
    if provider not in project.providers:
        raise ProviderNotFound
    return _required("IDP_COMPLETE_URL", settings.idp_complete_url or next(iter(settings.redirect_urls), None))


def is_posted(project: Project, provider: str | None) -> bool:
    """True if the provider has browsers post its answers."""
    found = project.providers.get(provider or "")
    return found is not None and (found.settings.response_mode or found.preset.response_mode) == FORM_POST


def check_page(project: Project, page: str, place: str = "query") -> None:
    """Raises Invalid for none of the project's REDIRECT_URLS. On this machine any port will do (RFC 8252 section 7.3)."""
    if _without_port(page) not in map(_without_port, project.settings.redirect_urls):
        raise Invalid.one((place, "redirect_to"), "This is not one of the project's REDIRECT_URLS")


def _without_port(page: str) -> str:
    """As it is, but for the port of a page on this machine."""
    if not is_allowed_url(page) or not is_loopback(page):
        return page
    parts = urlsplit(page)
    return parts._replace(netloc=parts.netloc.removesuffix(f":{parts.port}")).geturl()


def _issuer(settings: ProjectSettings, defaults: ProviderDefaults) -> str | None:
    """The project's issuer, else the environment's unless the project names URLs of its own; None for plain OAuth."""
    named = settings.idp_authorize_url or settings.idp_token_url or settings.idp_userinfo_url
    issuer = settings.idp_issuer or (None if named else defaults.issuer)
    if issuer is None and not named and not defaults.authorize_url:
        raise ConfigurationMissing("IDP_ISSUER key missing")
    return _allowed("IDP_ISSUER", issuer) if issuer else None


def _endpoints(settings: ProjectSettings, defaults: ProviderDefaults) -> Endpoints:
    urls = {
        "IDP_AUTHORIZE_URL": settings.idp_authorize_url or defaults.authorize_url,
        "IDP_TOKEN_URL": settings.idp_token_url or defaults.token_url,
        "IDP_USERINFO_URL": settings.idp_userinfo_url or defaults.userinfo_url,
    }
    authorize, token, userinfo = (_allowed(key, _required(key, url)) for key, url in urls.items())
    return Endpoints(authorize=authorize, token=token, userinfo=userinfo)


def _required(key: str, value: str | None) -> str:
    if not value:
        raise ConfigurationMissing(f"{key} key missing")
    return value


def _allowed(key: str, url: str) -> str:
    if not is_allowed_url(url):
        raise ConfigurationMissing(f"{key} must be an https URL, or an http URL of this machine")
    return url
