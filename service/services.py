"""Makes and closes the parts of the service, for a worker and for a command alike. Knows no HTTP.

Each capability builds itself, on the foundation and on the capabilities below it. A new one is a field and a line here.
"""

from dataclasses import dataclass, field
from functools import partial
from ipaddress import IPv4Network, IPv6Network

from pydantic import SecretStr

from service.background import build_jobs
from service.domain.access.administration import RulesAdministration
from service.domain.access.control import AccessControl
from service.domain.accounts import Accounts, PasswordHashing, build_accounts
from service.domain.aggregations.aggregations import Aggregations
from service.domain.batches.batches import Batches
from service.domain.collections import build_collections
from service.domain.collections.collections import Collections
from service.domain.contracts import Contracts
from service.domain.documents import build_documents
from service.domain.documents.reader import Engine
from service.domain.events import Journal
from service.domain.feed import build_feed
from service.domain.feed.reader import Feed
from service.domain.files import build_files
from service.domain.files.files import Files
from service.domain.files.variants import FileVariants
from service.domain.idempotency import Idempotency
from service.domain.jobs import Jobs
from service.domain.limits.limiter import Limits
from service.domain.lists import Lists
from service.domain.mail_flows import build_flows
from service.domain.mail_flows.flows import Flows
from service.domain.operators import build_operators
from service.domain.operators.operators import OperatorRules, Operators
from service.domain.portable.backups import BackupFolder, build_backups
from service.domain.portable.job_kinds import build_runner
from service.domain.profiles import build_profiles
from service.domain.realtime import build_realtime
from service.domain.realtime.realtime import Realtime
from service.domain.sessions import build_sessions
from service.domain.sessions.sessions import Sessions
from service.domain.sign_in import build_sign_in
from service.domain.sign_in.flow import SignIn
from service.domain.sign_in.registration import ProviderDefaults
from service.domain.traffic import Traffic, build_traffic
from service.domain.trials import build_trials
from service.domain.trials.trials import Trials
from service.domain.views import Views
from service.foundation import Foundation, build_foundation
from service.outbound.fetching import Outbound
from service.settings import Settings
from service.storage.client import Client, connect
from service.storage.counters import Counters

# A change stream holds one, and the next one is opened while it waits.
FEED_CONNECTIONS = 8


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The settings of the deployment that requests are judged by."""

    trusted_proxies: tuple[IPv4Network | IPv6Network, ...]
    metrics_token: str | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class Services:
    """One of each, on one connection to MongoDB."""

    base: Foundation
    limits: Limits
    access: AccessControl
    rules: RulesAdministration
    collections: Collections
    contracts: Contracts
    files: Files
    variants: FileVariants
    documents: Engine
    aggregations: Aggregations
    batches: Batches
    realtime: Realtime
    journal: Journal
    flows: Flows
    sessions: Sessions
    accounts: Accounts
    sign_in: SignIn
    trials: Trials
    traffic: Traffic
    operators: Operators
    views: Views
    backups: BackupFolder
    feed: Feed
    idempotency: Idempotency
    jobs: Jobs
    outbound: Outbound
    web: WebSettings

    async def close(self) -> None:
        """Returns what was leased and ends what runs, as far as the database answers."""
        await self.realtime.close()
        await self.traffic.live.close()
        await self.jobs.close()
        await self.feed.close()
        await self.flows.outbox.close()
        await self.variants.close()
        await self.limits.close()
        await self.sessions.sightings.close()
        await self.operators.uses.close()
        await self.traffic.usage.close()
        await self.journal.close()
        self.accounts.passwords.close()
        self.collections.judge.close()
        self.contracts.close()
        await self.outbound.aclose()
        await self.base.close()


def build_services(settings: Settings) -> Services:
    """One of each service, on a MongoDB that need not be there yet. Belongs to the event loop that uses it first."""
    base = build_foundation(settings)
    access, limits, journal = AccessControl(), Limits(Counters(base.databases)), Journal(base.projects)
    outbound = Outbound()
    collections = build_collections(access, limits, base.audit)
    files = build_files(base, access, collections.catalogs, Lists(base.presence), window=settings.file_url_window)
    flows = build_flows(base, limits, smtp_url=_reveal(settings.smtp_url), mail_from=settings.mail_from)
    sessions, profiles = build_sessions(base, access, journal), build_profiles(base, collections)
    accounts = build_accounts(base, sessions, flows, files.protection, profiles, _password_hashing(settings), outbound)
    documents = build_documents(base, collections, files)
    operators = build_operators(base, limits, accounts.passwords, sessions, _operator_rules(settings))
    sign_in = build_sign_in(base, accounts, outbound, _provider_defaults(settings))
    realtime = build_realtime(base, files.protection, sessions, partial(_connect_feed, settings))
    feed = build_feed(base, collections.catalogs, partial(_connect_feed, settings), days=settings.feed_days)
    traffic = build_traffic(base, realtime.count_sockets, megabytes=settings.request_log_mb)
    backups = build_backups(base, settings.backup_store or settings.data_dir / "backups")
    return Services(
        base=base,
        limits=limits,
        access=access,
        rules=RulesAdministration(access, limits, base.audit),
        collections=collections,
        contracts=Contracts(access, profiles),
        files=files,
        variants=FileVariants(files, collections.catalogs),
        documents=documents,
        aggregations=Aggregations(collections.catalogs, access, files.protection, base.audit),
        batches=Batches(documents, accounts),
        realtime=realtime,
        journal=journal,
        flows=flows,
        sessions=sessions,
        accounts=accounts,
        sign_in=sign_in,
        trials=build_trials(sign_in, flows, limits, outbound),
        traffic=traffic,
        operators=operators,
        views=Views(base.databases),
        backups=backups,
        feed=feed,
        idempotency=Idempotency(base.secret_box),
        jobs=build_jobs(base, limits, accounts, journal, operators.uses, traffic, build_runner(backups), feed.leader),
        outbound=outbound,
        web=WebSettings(settings.trusted_proxies, _reveal(settings.metrics_token)),
    )


def _reveal(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None


def _connect_feed(settings: Settings) -> Client:
    """The change feed's own client: it waits for changes without a deadline."""
    return connect(settings.database_uri, app_name=settings.app_name, timeout_ms=None, max_connections=FEED_CONNECTIONS)


def _password_hashing(settings: Settings) -> PasswordHashing:
    return PasswordHashing(settings.bcrypt_cost, settings.hashing_threads, settings.password_range_url)


def _provider_defaults(settings: Settings) -> ProviderDefaults:
    return ProviderDefaults(
        issuer=settings.idp_issuer,
        authorize_url=settings.idp_authorize_url,
        token_url=settings.idp_token_url,
        userinfo_url=settings.idp_userinfo_url,
        scopes=settings.idp_scopes,
    )


def _operator_rules(settings: Settings) -> OperatorRules:
    return OperatorRules(
        settings.base_url,
        settings.requires_factor,
        idle=settings.operator_idle,
        lifetime=settings.operator_lifetime,
        limit=settings.operator_limit,
        has_console=settings.console == "on",
        pictures=settings.pictures_origin,
        has_smtp=settings.smtp_url is not None,
    )
