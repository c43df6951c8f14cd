from tests.identity_provider import provider, provider_server

__all__ = ["provider", "provider_server"]
