"""A search on the web by any installed LangChain tool, through the run's door: stored, and never paid for twice."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.tools import ToolException

from judge.errors import CallFailed, MedjudgeError, SpecError
from judge.evidence.cutting import CHARACTERS, CUTTING, PASSAGES
from judge.evidence.passages import Passage
from judge.evidence.results import READING, failure_in_results, plain, read_results, says_nothing
from judge.models.address import Address, calling
from judge.models.door import Answer, Door
from judge.models.exchange import JSON, encodable_json, redact_error
from judge.models.provider import failure_in
from judge.models.retry import Retryable, failure_of

#: Where a tool that is given by its class alone is looked for, in this order.
MODULES = (
    "langchain_community.tools",
    "langchain_tavily",
    "langchain_exa",
    "langchain_google_community",
    "langchain_linkup",
    "langchain_perplexity",
)

_NAME = re.compile(r"web:(?:(?P<module>\w+(?:\.\w+)*):)?(?P<kind>\w+)")


class WebSearch:
    """A LangChain search tool, made without arguments: its key is where the tool looks for it, in the environment.

    Args:
        door: None: the search has a name and a version, but cannot be made. If the door replays, the tool need not be
            installed and the version says so.

    Raises:
        SpecError: the name has another form, or the tool is not installed or cannot be set up.
    """

    def __init__(self, name: str, door: Door | None, *, connections: int) -> None:
        if (match := _NAME.fullmatch(name)) is None:
            raise SpecError(
                f"{name!r} names no tool; write web:ClassName, e.g. web:TavilySearch, or web:module.path:ClassName"
            )
        self.name = name
        self._door = door
        self._endpoint = door.endpoint(name, connections) if door else None
        self._tool = None if door and door.replaying else _tool(name, match["module"] or "", match["kind"])
        made_by = _made_by(type(self._tool)) if self._tool is not None else "replayed"
        self.version = f"{made_by}|reading:{READING}|cutting:{CUTTING}|k:{PASSAGES}|chars:{CHARACTERS}"

    async def search(self, query: str, address: Address) -> Sequence[Passage]:
        """The best passages first; empty only if the tool says that there is nothing.

        Raises:
            CallFailed: the tool failed, or gave something that is not understood.
            EndpointError, ReplayError, Interrupted: see `judge.models.door.Door.exchange`.
        """
        if self._door is None or self._endpoint is None:
            raise MedjudgeError(f"{self.name} was opened without a door; a search must be stored with a run")
        body: dict[str, JSON] = {"tool": self.name, "query": query}

        async def send() -> Answer:
            return await self._send(query)

        with calling(address) as call:
            exchange = await self._door.exchange(call, self._endpoint, self.name, body, send)
        try:
            return read_results(json.loads(exchange.response)["found"], self.name)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise CallFailed(f"{self.name}: what the search gave is not understood ({error})") from error

    async def _send(self, query: str) -> Answer:
        """The tool's answer under ``found``, so that a ``usage`` in it is not taken for a model's."""
        tool = self._tool
        assert tool is not None, "a replay answers before anything is sent"
        try:
            found = await tool.ainvoke({"query": query} if "query" in (getattr(tool, "args", None) or {}) else query)
        except ToolException as error:
            if not says_nothing(str(error)):
                raise self._failure(error) from error
            found = []
        except Exception as error:
            raise self._failure(error) from error
        if (reported := failure_in_results(found)) is not None:
            raise self._failure(reported if isinstance(reported, Exception) else ToolException(reported))
        return Answer(200, {}, encodable_json({"found": plain(found)}))

    def _failure(self, error: Exception) -> Exception:
        """What an exception of the tool means for the search; one that tells nothing is a search that failed."""
        assert self._endpoint is not None
        any_success = self._endpoint.successes > 0
        failure = failure_in(error, any_success=any_success) or _told(error, any_success=any_success)
        failure.args = (f"{self.name}: {_without_parameters(str(failure))}",)
        return failure


#: How an HTTP status stands in the text of an exception that does not carry it.
_STATUS = re.compile(r"\b(?:error|status|code|http)\W{0,3}([45]\d\d)\b|\b([45]\d\d) (?:client|server) error", re.I)


def _told(error: Exception, *, any_success: bool) -> Exception:
    """What the words of an exception say."""
    shown = f"{type(error).__name__}: {error}"
    if status := _STATUS.search(shown):
        return failure_of(int(status[1] or status[2]), {}, shown, any_success=any_success)
    if re.search(r"rate.?limit|too many requests", shown, re.I):
        return Retryable("rate_limited", shown)
    if re.search(r"timed? ?out", shown, re.I):
        return Retryable("timeout", shown)
    return CallFailed(shown)


def _without_parameters(text: str) -> str:
    """Without what follows the ? of web addresses: some tools send their key there."""
    return re.sub(r"(https?://[^\s?'\"]+)\?[^\s'\"]*", r"\1?…", text)


def _tool(name: str, module: str, kind: str) -> Any:
    made = _class(name, module, kind) if module else _looked_for(name, kind)
    try:
        tool = made()
    except Exception as error:  # whatever somebody else's class raises, the user's choice cannot be set up
        raise SpecError(f"{name!r} cannot be set up: {_shown(error)}") from error
    if not callable(getattr(tool, "ainvoke", None)):
        raise SpecError(f"{name!r} is no LangChain tool: it has no method 'ainvoke'")
    for handling in ("handle_tool_error", "handle_validation_error"):
        if getattr(tool, handling, False):  # it would hand its errors over as if they had been found
            setattr(tool, handling, False)
    return tool


def _class(name: str, module: str, kind: str) -> Any:
    try:
        found = getattr(importlib.import_module(module), kind, None)
    except ImportError as error:
        package = module.partition(".")[0].replace("_", "-")
        raise SpecError(f"{name!r} is not installed ({error}); try: pip install {package}") from error
    except Exception as error:
        raise SpecError(f"{name!r} cannot be imported: {_shown(error)}") from error
    if found is None:
        raise SpecError(f"{name!r}: the module {module} has no class {kind}")
    return found


def _looked_for(name: str, kind: str) -> Any:
    for module in MODULES:
        try:
            package = importlib.import_module(module)
        except ImportError:
            continue
        try:
            found = getattr(package, kind, None)
        except ImportError as error:  # some packages import a class only when it is named, and what it needs may lack
            raise SpecError(f"{name!r} cannot be imported: {_shown(error)}") from error
        if found is not None:
            return found
    raise SpecError(
        f"{name!r} is not installed: no class {kind} in {', '.join(MODULES)}; pip install the package that has it, "
        "e.g. langchain-tavily or langchain-community, or name its module: web:module.path:ClassName"
    )


def _shown(error: Exception) -> str:
    return redact_error(" ".join(f"{type(error).__name__}: {error}".split())[:300], ())


def _made_by(kind: type) -> str:
    """A tool's full name and the version of what it was installed with."""
    full = f"{kind.__module__}.{kind.__qualname__}"
    package = kind.__module__.partition(".")[0]
    distribution = next(iter(_distributions().get(package, ())), "")
    return f"{full} ({distribution} {importlib.metadata.version(distribution)})" if distribution else full


@functools.cache  # it reads what every installed package says of itself
def _distributions() -> Mapping[str, Sequence[str]]:
    return importlib.metadata.packages_distributions()
