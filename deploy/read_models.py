"""The read models of an installation: the default one, and those that have a name (ADR 58)."""

from __future__ import annotations

from msgspec import Struct

from deploy.environment import check_model_name
from deploy.settings import DEFAULT_MODEL, PREFIX, ModelEngine, Settings, SettingsError
from write_side.postgres.pooler import PoolerUrl


class ReadModel(Struct, frozen=True):
    """``url`` None: the embedded PostgreSQL. ``pool_url``: through a pooler; None if there is none.
    ``workspaces``: those that it holds; None for all."""

    name: str = DEFAULT_MODEL
    url: str | None = None
    pool_url: PoolerUrl | None = None
    workspaces: tuple[str, ...] | None = None
    replica_urls: tuple[str, ...] = ()
    engine: ModelEngine = "postgresql"

    @property
    def setting(self) -> str:
        """The variable with its URL."""
        return f"{self._prefix}URL"

    @property
    def pool_setting(self) -> str:
        """The variable with the URL of its pooler."""
        return f"{self._prefix}POOL_URL"

    @property
    def replica_setting(self) -> str:
        """The variable with the URLs of its standbys."""
        is_default = self.name == DEFAULT_MODEL
        return f"{PREFIX}READ_REPLICA_URLS" if is_default else f"{self._prefix}REPLICA_URLS"

    @property
    def _prefix(self) -> str:
        name = "" if self.name == DEFAULT_MODEL else f"{self.name.upper()}_"
        return f"{PREFIX}READ_MODEL_{name}"


def read_models(settings: Settings) -> tuple[ReadModel, ...]:
    """All that the settings name, the default one first."""
    default = ReadModel(
        url=settings.read_model_url,
        pool_url=_pooler(settings.read_model_pool_url),
        replica_urls=settings.replica_urls,
        engine=settings.read_model_engine,
    )
    named = (
        ReadModel(name, one.url, _pooler(one.pool_url), one.slugs, one.replicas, one.engine)
        for name, one in sorted(settings.named_models.items())
    )
    return (default, *named)


def _pooler(url: str | None) -> PoolerUrl | None:
    return PoolerUrl(url) if url else None


def selected(settings: Settings) -> ReadModel:
    """The one that ``CONTENTLOG_READ_MODEL`` or ``--read-model`` names. Raises SettingsError."""
    known = {model.name: model for model in read_models(settings)}
    if settings.read_model not in known:
        check_model_name(settings.read_model)
        names = ", ".join(f"'{name}'" for name in known)
        raise SettingsError(
            f"there is no read model '{settings.read_model}': choose from {names}, or set "
            f"{ReadModel(settings.read_model).setting}"
        )
    return known[settings.read_model]
