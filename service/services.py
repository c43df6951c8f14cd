"""Makes and closes the parts of the service, for a worker and for a command alike. Knows no HTTP."""

import os
from dataclasses import dataclass
from functools import partial
from ipaddress import IPv4Network, IPv6Network

from service.background import build_jobs
from service.domain.access.administration import RulesAdministration
from service.domain.access.control import AccessControl
from service.domain.accounts.administration import UserAdministration
from service.domain.accounts.changes import Changes
from service.domain.accounts.directory import Directory
from service.domain.accounts.enrolment import Enrolment
from service.domain.accounts.factor_proofs import Proofs
from service.domain.accounts.guesses import Guesses
from service.domain.accounts.handed_links import LinkAdministration
from service.domain.accounts.own_account import OwnAccount
from service.domain.accounts.own_factors import OwnFactors
from service.domain.accounts.passkey_sign_ins import PasskeySignIns
from service.domain.accounts.passkeys import PURPOSE as PASSKEYS
from service.domain.accounts.passkeys import Passkeys
from service.domain.accounts.passwords import Passwords
from service.domain.accounts.roles import Roles
from service.domain.accounts.second_steps import SecondSteps
from service.domain.accounts.users import Accounts
from service.domain.aggregations.aggregations import Aggregations
from service.domain.audit.audit import Audit
from service.domain.batches.batches import Batches
from service.domain.collections.catalog import Catalogs
from service.domain.collections.collections import Collections
from service.domain.collections.pattern_judge import PatternJudge
from service.domain.collections.schema_changes import SchemaChanges
from service.domain.confirmations.confirmations import Confirmations
from service.domain.confirmations.email_changes import EmailChanges
from service.domain.confirmations.links import Links
from service.domain.confirmations.resets import Resets
from service.domain.confirmations.sign_ins import SignIns
from service.domain.confirmations.signups import Signups
from service.domain.confirmations.verification import Verification
from service.domain.contracts.contracts import Contracts
from service.domain.documents.bulk import BulkWrites
from service.domain.documents.exports import Exports, make_transfer_shares
from service.domain.documents.imports import Imports
from service.domain.documents.reader import Engine
from service.domain.documents.refusals import ConflictLimit
from service.domain.events import Journal
from service.domain.files.files import Files
from service.domain.files.protection import FileProtection
from service.domain.files.signed_urls import UrlSigner
from service.domain.files.signing import FileSigning
from service.domain.files.variants import FileVariants
from service.domain.idempotency import Idempotency
from service.domain.jobs import Jobs
from service.domain.limits.limiter import Limits
from service.domain.limits.made_files import MadeFiles
from service.domain.lists import Lists
from service.domain.mail_flows.flows import Flows
from service.domain.mail_flows.mailbox import Mails
from service.domain.mail_flows.outbox import Outbox
from service.domain.mail_flows.routes import read_routes
from service.domain.operators.operators import OperatorRules, Operators
from service.domain.paces import Presence
from service.domain.projects.admin import ProjectAdmin
from service.domain.projects.data_versions import DataVersions
from service.domain.projects.keys import Keys
from service.domain.projects.lookup import Projects
from service.domain.projects.provider_administration import ProviderAdministration
from service.domain.projects.readiness import Canary
from service.domain.projects.secrets import derive_key
from service.domain.projects.signing_keys import SigningKeys
from service.domain.realtime.realtime import Realtime
from service.domain.sessions.access_tokens import Tokens
from service.domain.sessions.exchange_codes import ExchangeCodes
from service.domain.sessions.pending import PendingSignIns
from service.domain.sessions.refresh_tokens import PURPOSE as REFRESH_TOKENS
from service.domain.sessions.refresh_tokens import RefreshTokens
from service.domain.sessions.refreshing import Refreshing
from service.domain.sessions.sessions import Sessions
from service.domain.sessions.sightings import Sightings
from service.domain.sign_in.flow import SignIn
from service.domain.sign_in.native import NativeSignIn
from service.domain.sign_in.own_identities import OwnIdentities
from service.domain.sign_in.registration import ProviderClients, ProviderDefaults
from service.foundation import Foundation, build_foundation
from service.providers import Gateway
from service.settings import Settings
from service.storage.client import connect
from service.storage.counters import Counters
from service.storage.databases import Databases
from service.storage.flows import FlowStore
from service.storage.migrations import Migrations
from service.storage.sign_in_codes import SignInCodes
from service.storage.sign_in_states import SignInStates

# A change stream holds one, and the next one is opened while it waits.
FEED_CONNECTIONS = 8
# HKDF purpose of the key that signs file URLs.
FILE_URLS = "file urls"
# HKDF purpose of the key that signs realtime cursors.
CURSORS = "realtime cursors"
# HKDF purpose of the key for the HMACs of writes and their idempotency keys.
IDEMPOTENCY = "idempotency"
# HKDF purpose of the key for the HMACs of codes and accounts.
FLOWS = "flows"
# HKDF purpose of the key for the HMACs of operators' addresses.
OPERATORS = "operators"


@dataclass(frozen=True, slots=True)
class Services:
    """One of each, on one connection to MongoDB."""

    base: Foundation
    databases: Databases
    projects: Projects
    admin: ProjectAdmin
    migrations: Migrations
    canary: Canary
    versions: DataVersions
    tokens: Tokens
    sessions: Sessions
    refresh_tokens: RefreshTokens
    refreshing: Refreshing
    sightings: Sightings
    journal: Journal
    passwords: Passwords
    accounts: Accounts
    directory: Directory
    own_account: OwnAccount
    own_factors: OwnFactors
    enrolment: Enrolment
    second_steps: SecondSteps
    passkey_sign_ins: PasskeySignIns
    user_administration: UserAdministration
    link_administration: LinkAdministration
    sign_in: SignIn
    native_sign_in: NativeSignIn
    own_identities: OwnIdentities
    provider_clients: ProviderClients
    exchange_codes: ExchangeCodes
    outbox: Outbox
    mails: Mails
    verification: Verification
    flows: Flows
    signups: Signups
    sign_ins: SignIns
    email_changes: EmailChanges
    confirmations: Confirmations
    resets: Resets
    links: Links
    base_url: str
    collections: Collections
    schema_changes: SchemaChanges
    pattern_judge: PatternJudge
    contracts: Contracts
    documents: Engine
    aggregations: Aggregations
    exports: Exports
    imports: Imports
    batches: Batches
    bulk_writes: BulkWrites
    idempotency: Idempotency
    files: Files
    file_variants: FileVariants
    file_signing: FileSigning
    limits: Limits
    presence: Presence
    jobs: Jobs
    access: AccessControl
    rules: RulesAdministration
    roles: Roles
    keys: Keys
    audit: Audit
    providers: ProviderAdministration
    realtime: Realtime
    operators: Operators
    # The origin of pages that the service serves itself.
    origin: str
    signing_keys: SigningKeys
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...]
    metrics_token: str | None

    async def close(self) -> None:
        """Returns what was leased and ends what runs, as far as the database answers."""
        await self.realtime.close()
        await self.jobs.close()
        await self.outbox.close()
        await self.file_variants.close()
        await self.limits.close()
        await self.sightings.close()
        await self.operators.uses.close()
        await self.journal.close()
        self.passwords.close()
        self.pattern_judge.close()
        self.contracts.close()
        await self.sign_in.aclose()
        await self.base.close()


def build_services(settings: Settings) -> Services:
    """One of each service, on a MongoDB that need not be there yet. Belongs to the event loop that uses it first."""
    base = build_foundation(settings)
    databases, projects = base.databases, base.projects
    passwords = Passwords(settings.bcrypt_cost, settings.hashing_threads or os.cpu_count() or 1)
    sightings = Sightings()
    tokens = Tokens(settings.base_url, projects, sightings)
    refresh_tokens = RefreshTokens(derive_key(settings.secret, REFRESH_TOKENS))
    catalogs, presence, pattern_judge = Catalogs(), Presence(), PatternJudge()
    lists = Lists(presence)
    limits = Limits(Counters(databases))
    access, made = AccessControl(), MadeFiles(limits)
    signer = UrlSigner(derive_key(settings.secret, FILE_URLS), window=settings.file_url_window)
    protection = FileProtection(access, catalogs, signer)
    documents = Engine(catalogs, lists, pattern_judge, protection, access, ConflictLimit(limits))
    transfers, files = make_transfer_shares(), Files(projects, protection)
    journal = Journal(projects)
    store = FlowStore(databases)
    pending = PendingSignIns(store)
    sessions = Sessions(tokens, refresh_tokens, access, journal, pending, sightings)
    exchange_codes = ExchangeCodes(SignInCodes(databases))
    gateway, states = Gateway(), SignInStates(databases)
    clients = ProviderClients(_provider_defaults(settings), settings.base_url)
    guesses = Guesses(limits, derive_key(settings.secret, FLOWS))
    accounts = Accounts(passwords, sessions, access=access, protection=protection, guesses=guesses)
    directory = Directory(lists, access, protection)
    outbox = _build_outbox(settings, base, store)
    flows = _build_flows(settings, base, limits, store, outbox)
    passkeys = Passkeys(derive_key(settings.secret, PASSKEYS))
    proofs = Proofs(limits, base.secret_box, flows, passkeys, sessions, key=derive_key(settings.secret, FLOWS))
    changes = Changes(access, flows)
    verification, resets = Verification(flows, changes, accounts), Resets(flows, passwords, changes, proofs)
    sign_ins = SignIns(flows, exchange_codes, accounts, changes)
    email_changes = EmailChanges(flows, limits, changes)
    operators = _build_operators(settings, base, limits, passwords)
    sign_in = SignIn(
        gateway,
        states,
        sessions=sessions,
        clients=clients,
        codes=exchange_codes,
        changes=changes,
        projects=projects,
    )
    return Services(
        base=base,
        databases=databases,
        projects=projects,
        admin=base.admin,
        migrations=base.migrations,
        canary=base.canary,
        versions=base.versions,
        tokens=tokens,
        sessions=sessions,
        refresh_tokens=refresh_tokens,
        refreshing=Refreshing(sessions, projects, access, flows, tokens.owners),
        sightings=sightings,
        journal=journal,
        passwords=passwords,
        accounts=accounts,
        directory=directory,
        own_account=OwnAccount(accounts, passwords, changes, sessions),
        own_factors=OwnFactors(changes),
        enrolment=Enrolment(
            accounts,
            sessions,
            pending=pending,
            changes=changes,
            store=store,
            secret_box=base.secret_box,
            passkeys=passkeys,
        ),
        second_steps=SecondSteps(accounts, sessions, pending, proofs, passkeys),
        passkey_sign_ins=PasskeySignIns(accounts, sessions, pending, passkeys),
        user_administration=UserAdministration(passwords, protection, sessions, flows, changes, limits),
        link_administration=LinkAdministration(flows, store, base.secret_box),
        collections=Collections(catalogs, pattern_judge, access, made, base.audit),
        schema_changes=SchemaChanges(catalogs, pattern_judge, access, made, base.audit),
        pattern_judge=pattern_judge,
        contracts=Contracts(catalogs, access),
        documents=documents,
        aggregations=Aggregations(catalogs, access, protection, base.audit),
        exports=Exports(documents, transfers),
        imports=Imports(documents, projects, transfers),
        batches=Batches(documents, directory),
        bulk_writes=BulkWrites(documents, transfers),
        idempotency=Idempotency(base.secret_box, derive_key(settings.secret, IDEMPOTENCY)),
        files=files,
        file_variants=FileVariants(files, catalogs),
        file_signing=FileSigning(protection, access, catalogs, lists),
        sign_in=sign_in,
        native_sign_in=NativeSignIn(
            gateway, states, accounts=accounts, clients=clients, changes=changes, projects=projects
        ),
        own_identities=OwnIdentities(sign_in, exchange_codes, changes),
        provider_clients=clients,
        exchange_codes=exchange_codes,
        outbox=outbox,
        mails=Mails(store, projects, base.secret_box, outbox),
        verification=verification,
        flows=flows,
        signups=Signups(accounts, flows),
        sign_ins=sign_ins,
        email_changes=email_changes,
        confirmations=Confirmations(flows, verification, sign_ins, email_changes),
        resets=resets,
        links=Links(
            flows,
            projects,
            verification=verification,
            resets=resets,
            sign_ins=sign_ins,
            email_changes=email_changes,
        ),
        base_url=settings.base_url,
        limits=limits,
        presence=presence,
        jobs=build_jobs(base, limits, outbox, sightings, journal, operators.uses),
        access=access,
        rules=RulesAdministration(access, made, base.audit),
        roles=Roles(access, changes),
        keys=base.keys,
        audit=base.audit,
        providers=base.providers,
        realtime=Realtime(
            partial(
                connect,
                settings.database_uri,
                app_name=settings.app_name,
                timeout_ms=None,
                max_connections=FEED_CONNECTIONS,
            ),
            settings.database_prefix,
            access=access,
            catalogs=catalogs,
            projects=projects,
            tokens=tokens,
            protection=protection,
            lists=lists,
            key=derive_key(settings.secret, CURSORS),
        ),
        operators=operators,
        origin="/".join(settings.base_url.split("/")[:3]),
        signing_keys=base.signing_keys,
        trusted_proxies=settings.trusted_proxies,
        metrics_token=settings.metrics_token.get_secret_value() if settings.metrics_token else None,
    )


def _build_operators(settings: Settings, base: Foundation, limits: Limits, passwords: Passwords) -> Operators:
    rules = OperatorRules(
        settings.base_url,
        settings.requires_factor,
        idle=settings.operator_idle,
        lifetime=settings.operator_lifetime,
        limit=settings.operator_limit,
        has_console=settings.console == "on",
        has_smtp=settings.smtp_url is not None,
        networks=settings.admin_networks,
    )
    key = derive_key(settings.secret, OPERATORS)
    return Operators(base.databases, limits, passwords, base.secret_box, rules, key=key)


def _build_outbox(settings: Settings, base: Foundation, store: FlowStore) -> Outbox:
    url = settings.smtp_url.get_secret_value() if settings.smtp_url else None
    routes = read_routes(url, settings.mail_from, settings.base_url)
    return Outbox(store, base.projects, base.secret_box, routes)


def _build_flows(settings: Settings, base: Foundation, limits: Limits, store: FlowStore, outbox: Outbox) -> Flows:
    key = derive_key(settings.secret, FLOWS)
    return Flows(store, base.secret_box, limits, outbox, key=key, base_url=settings.base_url)


def _provider_defaults(settings: Settings) -> ProviderDefaults:
    return ProviderDefaults(
        issuer=settings.idp_issuer,
        authorize_url=settings.idp_authorize_url,
        token_url=settings.idp_token_url,
        userinfo_url=settings.idp_userinfo_url,
        scopes=settings.idp_scopes,
    )
