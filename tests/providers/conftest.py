from tests.provider.fixture import provider, provider_server

__all__ = ["provider", "provider_server"]
