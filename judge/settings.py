"""Settings as frozen values, and the only reader of the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator

from judge.errors import SpecError

Kind = Literal["openai", "http", "embedded", "hf", "provider", "replay", "human", "imported"]

FORMS = (
    "openai:gpt-4.1, http://127.0.0.1:8000/v1#served-name, hf:/path/or/id, provider:name, embedded, "
    "replay:FILE or human"
)

BARE: Mapping[str, Kind] = {"embedded": "embedded", "human": "human"}
NAMED: Mapping[str, Kind] = {"hf": "hf", "replay": "replay"}

OPENAI_URL = "https://api.openai.com/v1"


def own_folder() -> Path:
    """Where fetched resources and cached embeddings are: MEDJUDGE_HOME, else medjudge in the user's cache folder."""
    if home := os.environ.get("MEDJUDGE_HOME", "").strip():
        return Path(home).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME", "").strip()
    return (Path(cache) if cache else Path.home() / ".cache") / "medjudge"


class Frozen(BaseModel):
    """Base of all settings: immutable, and no field passes unnoticed."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ModelSpec(Frozen):
    """Which model to ask, and where.

    Attributes:
        text: as the user wrote it.
        kind: which of the forms it has.
        name: the model's name as sent to the server, or path, or recording file.
        base_url: of an OpenAI-compatible server, without trailing slash; empty for the others.
        key_variable: environment variable that holds the key; empty when none is sent.
    """

    text: str
    kind: Kind
    name: str
    base_url: str = ""
    key_variable: str = ""

    @property
    def endpoint(self) -> str:
        """What is asked, for limits and the shared cache: base URL, or kind."""
        return self.base_url or self.kind

    @property
    def slug(self) -> str:
        """A short name safe in a file name."""
        last = re.split(r"[/\\]", self.name.rstrip("/\\"))[-1] or self.kind
        return re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip("-.")[:40] or self.kind

    def key(self) -> str:
        """The API key, or an empty text.

        Raises:
            SpecError: the variable that should hold it is not set.
        """
        if not self.key_variable:
            return ""
        value = os.environ.get(self.key_variable, "").strip()
        if not (value.isascii() and value.isprintable()):
            raise SpecError(f"the environment variable {self.key_variable} holds characters that no key can have")
        if not value and self.key_variable != HTTP_KEY:
            raise SpecError(f"{self.text} needs a key: set the environment variable {self.key_variable}")
        return value


HTTP_KEY = "MEDJUDGE_API_KEY"
"""Key for http(s) endpoints when --api-key-env names no other; OPENAI_API_KEY is never sent to them."""


def parse_model(text: str, *, key_variable: str | None = None) -> ModelSpec:
    """Read a model SPEC.

    Raises:
        SpecError: it has none of the known forms, or lacks a part.
    """
    spec = text.strip()
    if spec.lower().startswith(("http:", "https:")):
        return _http_spec(spec, key_variable)
    if spec in BARE:
        return ModelSpec(text=spec, kind=BARE[spec], name=spec)
    kind, colon, name = (part.strip() for part in spec.partition(":"))
    if not colon or not name or not kind:
        raise SpecError(f"{text!r} is no model name; give one of {FORMS}")
    if kind == "openai":
        url = os.environ.get("OPENAI_BASE_URL", "").rstrip("/") or OPENAI_URL
        return ModelSpec(
            text=spec, kind="openai", name=name, base_url=url, key_variable=key_variable or "OPENAI_API_KEY"
        )
    if kind in NAMED:
        return ModelSpec(text=spec, kind=NAMED[kind], name=name)
    return ModelSpec(text=spec, kind="provider", name=spec)


def _http_spec(spec: str, key_variable: str | None) -> ModelSpec:
    try:
        parts = urlsplit(spec)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise SpecError(f"{spec!r} is no address ({error}); write http://HOST:PORT/v1#served-name") from None
    if parts.username or parts.password or parts.query:  # not quoted here: a key may be in it
        raise SpecError(
            "the address of a server has the form http://HOST:PORT/v1#served-name, without a query or a key; "
            "put the key into an environment variable and name it with --api-key-env"
        )
    if not host:
        raise SpecError(f"{spec!r} names no host; write http://HOST:PORT/v1#served-name")
    if not parts.fragment:
        bare = spec.rstrip("#")
        raise SpecError(f"{spec!r} does not say which model; write its served name after a #, e.g. {bare}#my-model")
    url = urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/"), "", ""))
    return ModelSpec(text=spec, kind="http", name=parts.fragment, base_url=url, key_variable=key_variable or HTTP_KEY)


#: Fields of a request body that have an option of their own, or that a run depends on.
OURS = frozenset({"model", "messages", "stream", "n", "temperature", "max_tokens", "max_completion_tokens"})


class Generation(Frozen):
    """How a model is asked; what is None is not sent, so the server's default holds.

    Attributes:
        temperature: sampling temperature.
        max_tokens: most tokens of a reply, thinking included on most servers.
        extra_body: further fields of the request body, e.g. ``{"chat_template_kwargs": {"enable_thinking": false}}``.
    """

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    extra_body: dict[str, Any] = Field(default_factory=dict)

    @field_validator("extra_body")
    @classmethod
    def _leaves_ours_alone(cls, extra: dict[str, Any]) -> dict[str, Any]:
        if taken := sorted(OURS & extra.keys()):
            raise SpecError(f"--extra-body cannot set {taken[0]!r}; medjudge sends that itself")
        return extra


#: What models in this process need where the user gives nothing; it becomes part of the run's settings and is shown.
#: A small model may ramble until its window is full, and transformers' own limit of 20 tokens would cut every answer.
IN_PROCESS: Mapping[Kind, Generation] = {
    "embedded": Generation(max_tokens=256),
    "hf": Generation(temperature=0.0, max_tokens=1024),
}


def filled(generation: Generation, kind: Kind) -> Generation:
    """`generation` with what a model in this process must be told; for any server it stays as it is."""
    defaults = IN_PROCESS.get(kind, Generation())
    missing = {
        name: getattr(defaults, name)
        for name in ("temperature", "max_tokens")
        if getattr(generation, name) is None and getattr(defaults, name) is not None
    }
    return generation.model_copy(update=missing)


class Traffic(Frozen):
    """How hard an endpoint is driven; may differ when a run is resumed, since it changes no number."""

    connections: Annotated[int, Field(gt=0, le=4096)] = 16
    timeout: Annotated[float, Field(gt=0)] = 600.0
    tries: Annotated[int, Field(gt=0)] = 6
    total_wait: Annotated[float, Field(ge=0)] = 600.0


class RunSpec(Frozen):
    """Everything that can change a run's numbers; a run is resumed only under an equal one.

    Attributes:
        benchmark: its registered name.
        model: the doctor, i.e. the candidate under test.
        generation: how it is asked.
        others: the other models that take part, by role; they are asked with their servers' defaults.
        settings: the benchmark's conditions, reported apart, e.g. context ``none`` and ``full``.
        options: the benchmark's own options by name.
        data: folder the cases came from, as given; may move, since `data_hash` is what is compared.
        data_hash: over all data files read.
        limit, cases: which cases, None and empty for all.
        epochs: how often each case is asked.
        prompts: prompt name -> SHA-256 of its text.
        replaced_prompts: names of the prompts that came from the user's own folder.
        tokenizer: name of what counts tokens for context budgets.
        nonce: everything random in a request derives from it.
    """

    benchmark: str
    model: ModelSpec
    generation: Generation = Generation()
    others: dict[str, ModelSpec] = Field(default_factory=dict)
    settings: tuple[str, ...]
    options: dict[str, Any] = Field(default_factory=dict)
    data: str
    data_hash: str
    limit: int | None = None
    cases: tuple[str, ...] = ()
    epochs: int = 1
    prompts: dict[str, str] = Field(default_factory=dict)
    replaced_prompts: tuple[str, ...] = ()
    tokenizer: str
    nonce: str

    def models(self) -> dict[str, ModelSpec]:
        """Every model that takes part, by role."""
        return {"doctor": self.model, **self.others}


JudgeProtocol = Literal["per-step", "batched"]
"""One call a question, as published, or one for the labels of all steps and one for all reference steps."""

ReasoningSource = Literal["answer", "thinking"]
"""Which of the two texts of a reasoning model is judged; they are never mixed."""

StepSplitter = Literal["auto", "rules", "judge"]
"""Who splits reasoning into steps; ``auto``: the rules where the text labels its steps, the judge elsewhere."""


class JudgeSpec(Frozen):
    """Everything that can change what a judge says of a run; judging is continued only under an equal one.

    Attributes:
        name: under which the run keeps its judgements.
        generation: how it is asked; what is None is not sent.
        only: which of the benchmark's judging tasks, in order.
        evidence: ``none``, ``corpus:DIR`` or ``web:NAME``.
        evidence_version: of what is searched; empty for none.
        reference: where reference steps are from: name of the splitter and its version, e.g. ``rules.v1``.
        reference_hash: over the reference steps of all cases of the run.
        prompts: prompt name -> SHA-256 of its text.
        replaced_prompts: names of the prompts that came from the user's own folder.
    """

    name: str
    model: ModelSpec
    generation: Generation = Generation()
    protocol: JudgeProtocol = "per-step"
    only: tuple[str, ...]
    evidence: str = "none"
    evidence_version: str = ""
    reasoning_source: ReasoningSource = "answer"
    step_splitter: StepSplitter = "auto"
    reference: str = ""
    reference_hash: str = ""
    prompts: dict[str, str] = Field(default_factory=dict)
    replaced_prompts: tuple[str, ...] = ()

    @property
    def role(self) -> str:
        """Under which its calls are stored."""
        return f"judge:{self.name}"


#: Fields that may differ on resume: where the data and the evidence lie (not what they say, of which there is a hash),
#: where the key is, the run's own nonce.
NOT_COMPARED = frozenset({"data", "nonce", "model.key_variable", "evidence"})


def differences_between(stored: Frozen, wanted: Frozen) -> list[str]:
    """What differs between two settings, one sentence part each, e.g. ``epochs is 1 in the run, 2 here``."""
    return list(_differences(stored.model_dump(mode="json"), wanted.model_dump(mode="json"), ""))


def _differences(stored: Mapping[str, Any], wanted: Mapping[str, Any], place: str) -> list[str]:
    found: list[str] = []
    for key in sorted({*stored, *wanted}):
        old, new = stored.get(key), wanted.get(key)
        if old == new or f"{place}{key}" in NOT_COMPARED:
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            found += _differences(old, new, f"{place}{key}.")
        else:
            found.append(f"{place}{key} is {_shown(old)} in the run, {_shown(new)} here")
    return found


def _shown(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value):
        return f"{value[:8]}…"  # a hash: enough to see that it is another
    return "not set" if value is None else repr(value)
