"""A judge behind the door: which way of structured output its endpoint really supports, and the judge in that way.

Servers refuse a mode, or accept it and ignore it, or refuse a parameter; only a reply that validates counts. It is
found out once, before anything is judged, and recorded, so that every later request is made in the same way.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

import openai
from instructor import Mode
from pydantic import Field

from judge.errors import CallFailed, EndpointError, SpecError
from judge.models.address import Address
from judge.models.chat import open_chat, openai_client, tokens_key
from judge.models.door import Door, Endpoint
from judge.models.retry import RETRIED
from judge.models.structured_asking import InstructorSpeaker, Judge, Speaker, TextSpeaker
from judge.models.structured_reading import InvalidVerdict, read_verdict
from judge.models.transport import http_client
from judge.models.verdict import JudgeFailed, StructuredModel, Verdict
from judge.settings import Generation, Kind, ModelSpec, filled

#: In the order of preference.
MODES: tuple[Mode, ...] = (Mode.TOOLS, Mode.JSON_SCHEMA, Mode.JSON, Mode.MD_JSON)

#: The schema in the prompt and nothing in the protocol: for models that are not behind an OpenAI-compatible server.
TEXT = "TEXT"

#: Room for a short reply, or for the thinking of a reasoning model before one.
PROBE_TOKENS = 2048

#: Fields of a request body that a mode sets.
OF_A_MODE = frozenset({"response_format", "tools", "tool_choice", "functions", "function_call"})

#: How servers say, some with status 500, that they do not know what a mode sends, e.g. llama.cpp: "Unsupported param:
#: tools" and "tools param requires --jinja flag".
_OF_THE_MODE = re.compile(r"\b(?:tools|tool_choice|response_format|json_schema|json_object)\b", re.IGNORECASE)
_REFUSED = re.compile(r"\bun(?:supported|recogni[sz]ed|known)\b|\bnot supported\b|\brequires?\b", re.IGNORECASE)

_SERVED: frozenset[Kind] = frozenset({"openai", "http", "embedded"})
_IN_TEXT: frozenset[Kind] = frozenset({"hf", "provider"})


class Colour(Verdict):
    """Answer to the probe; a rationale precedes the verdict, as in every schema of ours."""

    rationale: str = Field(description="one short sentence")
    verdict: Literal["blue", "green"]


QUESTION = "Which of blue and green is the colour of a cloudless sky at noon? Give a short rationale and a verdict."


@dataclass(frozen=True, slots=True)
class ModeProbe:
    """How one mode fared.

    Attributes:
        works: a validated object came back.
        detail: why not, or what the reply was like.
    """

    mode: str
    works: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Probed:
    """How a judge is asked, as it was found out.

    Attributes:
        mode: name of the instructor mode, or `TEXT`.
        dropped: options that the model refuses and that are therefore not sent, e.g. ``temperature``.
        details: how each probe fared, one line each, in order.
        tokens_key: field under which a limit on tokens is sent; empty: the endpoint's usual one.
    """

    mode: str
    dropped: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    tokens_key: str = ""

    def to_facts(self) -> dict[str, Any]:
        """All fields in JSON types, for a run's or a recording's facts."""
        return {
            "mode": self.mode,
            "dropped": list(self.dropped),
            "details": list(self.details),
            "tokens_key": self.tokens_key,
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Probed:
        """The inverse of `to_facts`; only the mode must be there.

        Raises:
            SpecError: there is no mode.
        """
        if not isinstance(facts.get("mode"), str):
            raise SpecError("the facts about the judge do not say in which mode it was asked")
        dropped, details = (tuple(map(str, facts.get(name) or ())) for name in ("dropped", "details"))
        return cls(facts["mode"], dropped, details, str(facts.get("tokens_key") or ""))

    def sent(self, generation: Generation) -> Generation:
        """What is sent of a generation."""
        return generation.model_copy(update=dict.fromkeys(self.dropped))


@dataclass(frozen=True, slots=True)
class OpenedJudge:
    """A judge, and how it is asked."""

    model: StructuredModel
    probed: Probed


#: A list of steps with their rationales is longer than what the embedded model may say as a doctor.
_EMBEDDED_TOKENS = 1024


def judge_generation(generation: Generation, kind: Kind) -> Generation:
    """`generation` with what a judge in this process must be told; for any server it stays as it is."""
    if kind == "embedded" and generation.max_tokens is None:
        return generation.model_copy(update={"max_tokens": _EMBEDDED_TOKENS})
    return filled(generation, kind)


@asynccontextmanager
async def open_judge(
    spec: ModelSpec,
    generation: Generation,
    door: Door,
    *,
    connections: int,
    role: str,
    benchmark: str,
    known: Probed | None = None,
) -> AsyncIterator[OpenedJudge]:
    """A judge, closed on leaving the context.

    Args:
        generation: how it is asked; `judge_generation` fills what is missing.
        role, benchmark: under which its probes are stored, see `probe_address`.
        known: what an earlier probing found; else it is probed now, in a replay from the recorded probes.

    Raises:
        SpecError: the form is not one that can judge, or an option contradicts the mode.
        EndpointError: no mode works, or the endpoint serves no call at all.
    """
    wanted = _Wanted(spec, generation, door, connections, probe_address(role, benchmark), known)
    wanted.check()
    async with contextlib.AsyncExitStack() as stack:
        yield await (wanted.open_text(stack) if spec.kind in _IN_TEXT else wanted.open_served(stack))


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The arguments of `open_judge`, and `at`, the address of the probes."""

    spec: ModelSpec
    generation: Generation
    door: Door
    connections: int
    at: Address
    known: Probed | None

    def check(self) -> None:
        spec = self.spec
        if spec.kind not in _SERVED | _IN_TEXT:
            raise SpecError(f"{spec.text!r} cannot judge: name a model that answers by itself")
        if taken := sorted(OF_A_MODE & self.generation.extra_body.keys()):
            raise SpecError(f"a judge's extra body cannot set {taken[0]!r}; medjudge sends that itself")
        modes = [TEXT] if spec.kind in _IN_TEXT else [mode.name for mode in MODES]
        if self.known is not None and self.known.mode not in modes:
            raise SpecError(
                f"{spec.text!r} cannot be asked in the mode {self.known.mode!r}, only in {', '.join(modes)}"
            )

    async def open_served(self, stack: contextlib.AsyncExitStack) -> OpenedJudge:
        spec, url = self.spec, self.spec.base_url
        if self.door.replaying:  # nothing is sent: neither a key nor a server is needed
            spec, url = spec.model_copy(update={"key_variable": ""}), url or "http://localhost/v1"
        elif spec.kind == "embedded":
            from judge.models.embedded import serving

            url = stack.enter_context(serving())
        endpoint = self.door.endpoint(spec.endpoint, self.connections)
        known = self.known
        if known is None:
            # whatever is refused while probing is a way of asking, not every call: as if one had been answered before
            lenient = Endpoint(endpoint.name, endpoint.limit, successes=1)
            client = http_client(self.door, lenient, openai_account=spec.kind == "openai")
            async with openai_client(spec, url, client) as api:
                # the embedded model, in a mode it does not master, rambles up to any limit, so not to a long one
                known = await probe(api, spec, filled(self.generation, spec.kind), self.at)
            endpoint.successes += 1
        client = http_client(self.door, endpoint, openai_account=spec.kind == "openai")
        api = await stack.enter_async_context(openai_client(spec, url, client))
        return OpenedJudge(Judge(_speaker(api, spec, judge_generation(self.generation, spec.kind), known)), known)

    async def open_text(self, stack: contextlib.AsyncExitStack) -> OpenedJudge:
        generation = judge_generation(self.generation, self.spec.kind)
        details: list[str] = []
        way = self.known or Probed(TEXT)
        for ask in (1, 2):
            opened = open_chat(self.spec, way.sent(generation), self.door, connections=self.connections)
            speaker = TextSpeaker(await stack.enter_async_context(opened))
            if self.known is not None:
                return OpenedJudge(Judge(speaker), self.known)
            found, failure = await _tried(speaker, TEXT, replace(self.at, step=f"{self.at.step}/{TEXT}", ask=ask))
            details.append(_line(found, way))
            if found.works:
                return OpenedJudge(Judge(speaker), replace(way, details=tuple(details)))
            if _undecided(failure):
                raise _not_probed(self.spec, failure)
            following = _without_refused(way, generation, failure, "")
            if following is None:
                break
            way = following
        raise _no_mode(self.spec, details)


def _speaker(api: openai.AsyncOpenAI, spec: ModelSpec, generation: Generation, way: Probed) -> InstructorSpeaker:
    key = way.tokens_key or tokens_key(spec)
    return InstructorSpeaker(api, spec.name, Mode[way.mode], way.sent(generation), key)


def probe_address(role: str, benchmark: str) -> Address:
    """Where the probes of a judge are stored: in a unit that no case has; the step gets the mode appended."""
    return Address(benchmark, "-", "-", 1, role, "probe")


async def probe(api: openai.AsyncOpenAI, spec: ModelSpec, generation: Generation, at: Address) -> Probed:
    """Find the first mode that works, asking as the judge will be asked.

    An option that is refused is left out, or a limit on tokens sent under its other name, and the mode tried again; if
    all modes are refused without a word on why, all are tried without temperature.

    Args:
        api: over an endpoint that counts as having answered, so that a refusal is one of this request.
        at: address of the probes; each mode is a step below it.

    Raises:
        EndpointError: no mode works, or the endpoint serves no call at all.
    """
    prober = _Prober(api, spec, generation, at)
    for mode in MODES:
        if (found := await prober.try_mode(Probed(mode.name))) is not None:
            return found
    if prober.all_refused and generation.temperature is not None:
        for mode in MODES:
            if (found := await prober.try_mode(Probed(mode.name, dropped=("temperature",)))) is not None:
                return found
    raise _no_mode(spec, prober.details)


class _Prober:
    """Tries modes; every request has an address of its own."""

    def __init__(self, api: openai.AsyncOpenAI, spec: ModelSpec, generation: Generation, at: Address) -> None:
        self._api = api
        self._spec = spec
        self._generation = generation
        self._at = at
        self._asks: Counter[str] = Counter()
        self.all_refused = True
        self.details: list[str] = []

    async def try_mode(self, way: Probed) -> Probed | None:
        """How the mode works, without the options that are refused; None if it does not."""
        wanted: Probed | None = way
        while wanted is not None:
            way = wanted
            self._asks[way.mode] += 1
            address = replace(self._at, step=f"{self._at.step}/{way.mode}", ask=self._asks[way.mode])
            speaker = _speaker(self._api, self._spec, self._generation, way)
            found, failure = await _tried(speaker, way.mode, address)
            self.details.append(_line(found, way))
            if found.works:
                return replace(way, details=tuple(self.details))
            if _undecided(failure):
                raise _not_probed(self._spec, failure)
            self.all_refused &= failure is not None and failure.reason == "bad_request"
            wanted = _without_refused(way, self._generation, failure, tokens_key(self._spec))
        return None


def _undecided(failure: CallFailed | None) -> bool:
    """Whether a failure of a probe is one that may pass: it says nothing of the mode, which holds for a whole judging.

    A server error that names what the mode sends, and that it is not supported, is a refusal of the mode.
    """
    if failure is None or failure.reason.removeprefix("judge_") not in RETRIED:
        return False
    said = str(failure)
    return not (failure.reason == "server_error" and _OF_THE_MODE.search(said) and _REFUSED.search(said))


def _not_probed(spec: ModelSpec, failure: CallFailed | None) -> EndpointError:
    return EndpointError(
        f"{spec.text} cannot be probed as a judge: {failure}; how it is to be asked is not decided, so try again later"
    )


def _line(found: ModeProbe, way: Probed) -> str:
    without = f" without {', '.join(way.dropped)}" if way.dropped else ""
    renamed = f" with {way.tokens_key}" if way.tokens_key else ""
    return f"{found.mode}{without}{renamed}: {'works' if found.works else 'fails'}, {found.detail}"


def _no_mode(spec: ModelSpec, details: list[str]) -> EndpointError:
    return EndpointError(f"{spec.text} cannot judge, since no way of asking gets an object: {'; '.join(details)}")


_OTHER_KEY = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}

#: A limit that is only too high must not be sent under a name that the server may not know, and so ignore.
_UNKNOWN = re.compile(
    r"un(?:supported|recogni[sz]ed|known|expected)|not (?:supported|permitted|allowed)|instead", re.IGNORECASE
)


def _without_refused(way: Probed, generation: Generation, failure: CallFailed | None, usual_key: str) -> Probed | None:
    """The way of asking without the option that a refusal names; None where it names none that can be helped."""
    if failure is None or failure.reason != "bad_request":
        return None
    refusal = str(failure)
    if generation.temperature is not None and not way.dropped and re.search(r"\btemperature\b", refusal, re.IGNORECASE):
        return replace(way, dropped=("temperature",))
    limited = generation.max_tokens is not None and not way.tokens_key and usual_key
    if limited and re.search(rf"\b{usual_key}\b", refusal) and _UNKNOWN.search(refusal):
        return replace(way, tokens_key=_OTHER_KEY[usual_key])
    return None


async def _tried(speaker: Speaker, mode: str, address: Address) -> tuple[ModeProbe, CallFailed | None]:
    """Ask the question of the probe once; and why there is no answer that could be read, if so."""
    try:
        said = await speaker.say([{"role": "user", "content": QUESTION}], Colour, address)
    except CallFailed as failure:
        return ModeProbe(mode, False, f"refused: {failure}"), failure
    try:
        answer = read_verdict(said, Colour, prompt=QUESTION)
    except JudgeFailed as failed:
        return ModeProbe(mode, False, str(failed)), failed
    except InvalidVerdict as invalid:
        shown = " ".join(invalid.output.split())[:80]
        return ModeProbe(mode, False, f"the reply does not validate: {shown!r}"), None
    return ModeProbe(mode, True, f"verdict {answer.verdict}"), None


async def find_mode(client: openai.AsyncOpenAI, model: str, tokens_key: str) -> list[ModeProbe]:
    """Probe the modes in order of preference until one works; the last probe is that one, if any works.

    A failure that may pass ends it, too: a judge would not be asked in a later mode because of it.

    Raises:
        EndpointError: the endpoint serves no call at all.
    """
    probes: list[ModeProbe] = []
    for mode in MODES:
        speaker = InstructorSpeaker(client, model, mode, Generation(max_tokens=PROBE_TOKENS), tokens_key)
        address = Address("check", "none", "structured", 1, "judge", mode.value)
        found, failure = await _tried(speaker, mode.name, address)
        probes.append(found)
        if found.works or _undecided(failure):
            break
    return probes
