"""Search tools as people install them, in the forms that LangChain allows; a test says what they give."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

from langchain_core.tools import BaseTool
from pydantic import BaseModel


class FakeSearch(BaseTool):
    """Gives its answers in turn: values, or exceptions to raise."""

    answers: ClassVar[list[Any]] = []
    asked: ClassVar[list[str]] = []

    name: str = "fake"
    description: str = "searches nothing"

    def _run(self, query: str) -> Any:
        self.asked.append(query)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer() if isinstance(answer, Callable) else answer  # type: ignore[arg-type]


class ForgivingSearch(FakeSearch):
    """Hands its own errors over as text, as some tools do, so that an agent may read them."""

    handle_tool_error: bool = True


class OneArgument(BaseModel):
    q: str


class OtherArgument(FakeSearch):
    """Its one argument has another name."""

    args_schema: type[BaseModel] = OneArgument

    def _run(self, q: str) -> Any:
        return super()._run(q)


class WithoutKey(FakeSearch):
    """Refuses to be made, as tools do that find no key."""

    def __init__(self) -> None:
        raise ValueError("set the environment variable FAKE_KEY")


class NoTool:
    """Something else."""


def slow() -> str:
    time.sleep(0.3)
    return "too late"


def __getattr__(name: str) -> Any:
    if name == "NeedsMore":
        raise ImportError("pip install fake-engine")
    raise AttributeError(name)
