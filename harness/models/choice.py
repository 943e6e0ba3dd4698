"""From what the operator writes (`openai:NAME`, the environment, the configuration) to a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import ConfigError
from harness.model import Model

if TYPE_CHECKING:
    from harness.models.http import Dialect, Price

__all__ = ["PROVIDERS", "make_model", "model_from_environment"]

PROVIDERS = ("openai", "anthropic")
"""Both are chosen by the names that their own SDKs read from the environment."""

_FORMS = "openai:NAME, anthropic:NAME, scripted:FILE or replay:RUN"


def model_from_environment(environ: Mapping[str, str]) -> str | None:
    """The model that the environment names, or None where no key and no base URL is set (C-09)."""
    for provider in PROVIDERS:
        upper = provider.upper()
        if environ.get(f"{upper}_API_KEY") or environ.get(f"{upper}_BASE_URL"):
            return f"{provider}:{environ.get(f'{upper}_MODEL', '')}"
    return None


def make_model(
    spec: str,
    *,
    environ: Mapping[str, str],
    config: Mapping[str, Any] | None = None,
) -> Model:
    """The model that a spec names.

    Args:
        spec: `openai:NAME`, `anthropic:NAME` (an empty NAME takes the environment's, then the
            default), the name of a `[models.NAME]` table of the configuration,
            `scripted:FILE`, or `replay:RUN` (an id, a path or `latest`): the answers that were
            recorded then.
        environ: the operator's environment: OPENAI_BASE_URL, OPENAI_API_KEY, OPENAI_MODEL and
            the same of ANTHROPIC.
        config: the `[models]` table: by name `provider model base_url key_env stream max_tokens
            total_seconds idle_seconds attempts price_input price_output price_cached`, or
            `chain` (and `tasks`) for a router.

    Raises:
        ConfigError: the spec or a setting cannot be used; says which and what would fit.
    """
    tables = dict(config or {})
    if spec in tables:
        return _configured(spec, tables, environ, ())
    kind, found, rest = spec.partition(":")
    if kind == "scripted" and rest:
        from harness.models.scripted import ScriptedModel

        return ScriptedModel.load(Path(rest))
    if kind == "replay" and rest:
        return _replay(rest)
    if kind in PROVIDERS and found:
        return _http({"provider": kind, "model": rest}, environ, spec)
    known = f"; configured: {', '.join(sorted(tables))}" if tables else ""
    raise ConfigError(f"{spec!r} names no model: write {_FORMS}{known}")


def _replay(name: str) -> Model:
    from harness.recall import recall
    from harness.record import read_events
    from harness.replay.stand_in import RecordedModel
    from harness.run.folder import find_run

    folder = find_run(name)
    run = recall(read_events(folder.events))
    if not run.steps:
        raise ConfigError(f"replay:{name}: {folder.id} asked no model")
    return RecordedModel(run)


_KEYS = {
    "provider": str,
    "model": str,
    "base_url": str,
    "key_env": str,
    "stream": bool,
    "max_tokens": int,
    "total_seconds": float,
    "idle_seconds": float,
    "attempts": int,
    "price_input": float,
    "price_output": float,
    "price_cached": float,
}


def _configured(
    name: str, tables: Mapping[str, Any], environ: Mapping[str, str], above: tuple[str, ...]
) -> Model:
    table = tables[name]
    where = f"[models.{name}]"
    if not isinstance(table, Mapping):
        raise ConfigError(f"{where}: must be a table")
    if name in above:
        raise ConfigError(f"{where}: its chain leads back to itself")
    if "chain" not in table:
        return _http(table, environ, where)
    from harness.models.router import Router, Routes

    unknown = set(table) - {"chain", "tasks", "task"}
    if unknown:
        raise ConfigError(f"{where}: unknown key {min(unknown)!r} beside chain")
    tasks = table.get("tasks", {})
    names = dict.fromkeys([*table["chain"], *(n for some in tasks.values() for n in some)])
    models = {n: _configured(n, tables, environ, (*above, name)) for n in names if n in tables}
    return Router(Routes(models, table["chain"], tasks), task=table.get("task", ""))


def _http(table: Mapping[str, Any], environ: Mapping[str, str], where: str) -> Model:
    from harness.models.anthropic import AnthropicDialect
    from harness.models.http import Bounds, HttpModel
    from harness.models.openai import OpenAIDialect

    _check(table, where)
    provider = table.get("provider", "openai")
    dialects: dict[str, Dialect] = {"openai": OpenAIDialect(), "anthropic": AnthropicDialect()}
    if provider not in dialects:
        raise ConfigError(f"{where}: unknown provider {provider!r}: one of {', '.join(dialects)}")
    dialect = dialects[provider]
    upper = provider.upper()
    base = table.get("base_url") or environ.get(f"{upper}_BASE_URL") or dialect.default_base
    key = environ.get(table.get("key_env") or f"{upper}_API_KEY", "")
    if not key and base == dialect.default_base:
        raise ConfigError(
            f"{where}: no key: set {table.get('key_env') or upper + '_API_KEY'}, "
            f"or {upper}_BASE_URL for a server that asks for none"
        )
    model = table.get("model") or environ.get(f"{upper}_MODEL") or dialect.default_model
    plain = Bounds()
    bounds = Bounds(
        total_seconds=float(table.get("total_seconds", plain.total_seconds)),
        idle_seconds=float(table.get("idle_seconds", plain.idle_seconds)),
        attempts=table.get("attempts", plain.attempts),
    )
    return HttpModel(
        dialect,
        base=base,
        model=model,
        key=key,
        bounds=bounds,
        stream=table.get("stream", True),
        max_tokens=table.get("max_tokens"),
        price=_price(table, where),
    )


def _price(table: Mapping[str, Any], where: str) -> Price | None:
    from harness.models.http import Price

    given = [key for key in ("price_input", "price_output") if key in table]
    if not given:
        return None
    if len(given) == 1:
        raise ConfigError(f"{where}: {given[0]} needs its twin: a cost has both prices or none")
    cached = table.get("price_cached")
    return Price(float(table["price_input"]), float(table["price_output"]), cached)


def _check(table: Mapping[str, Any], where: str) -> None:
    for key, value in table.items():
        wanted = _KEYS.get(key)
        if wanted is None:
            raise ConfigError(f"{where}: unknown key {key!r}; known: {', '.join(sorted(_KEYS))}")
        fits = isinstance(value, wanted) or (wanted is float and isinstance(value, int))
        if not fits or (wanted is not bool and isinstance(value, bool)):
            raise ConfigError(f"{where}: {key} must be a {wanted.__name__}, not {value!r}")
        if wanted in (int, float) and value <= 0 and not key.startswith("price"):
            raise ConfigError(f"{where}: {key} must be positive, not {value!r}")
