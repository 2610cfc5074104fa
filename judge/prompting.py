"""Prompt texts: found by benchmark and name, replaceable by the user's own, filled in once and strictly."""

from __future__ import annotations

import hashlib
import importlib.resources
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

from judge.errors import DataError, SpecError

_VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt text.

    Attributes:
        name: file name without ``.md``, e.g. ``reask.fr.v1``.
        text: with variables as ``{{name}}``.
        expected: variables of the text we ship under this name.
        replaced: whether it came from the user's folder.
    """

    name: str
    text: str
    expected: frozenset[str] = frozenset()
    replaced: bool = False

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8")).hexdigest()

    @property
    def variables(self) -> frozenset[str]:
        return variables_of(self.text)

    def fill(self, **values: str) -> str:
        """The text with every variable replaced, in one pass: braces inside the values stay what they are.

        Raises:
            SpecError: a variable of the text has no value here.
        """
        missing = self.variables - values.keys()
        if missing:
            raise SpecError(
                f"prompt {self.name} uses {{{{{sorted(missing)[0]}}}}}, which does not exist; "
                f"there are: {', '.join(sorted(values))}"
            )
        return _VARIABLE.sub(lambda match: values[match.group(1)], self.text)


def variables_of(text: str) -> frozenset[str]:
    """The names between double braces."""
    return frozenset(_VARIABLE.findall(text))


class Prompts(Mapping[str, Prompt]):
    """The prompts of one run by name."""

    def __init__(self, prompts: Mapping[str, Prompt]) -> None:
        self._prompts = dict(prompts)

    def __getitem__(self, name: str) -> Prompt:
        return self._prompts[name]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self._prompts)

    def __len__(self) -> int:
        return len(self._prompts)

    def hashes(self) -> dict[str, str]:
        return {name: prompt.sha256 for name, prompt in self._prompts.items()}

    def omissions(self) -> tuple[str, ...]:
        """A sentence part for every variable that one of ours has and the user's own in its place has not."""
        return tuple(
            f"the user's own prompt {prompt.name} does not use {{{{{variable}}}}}"
            for prompt in self._prompts.values()
            if prompt.replaced
            for variable in sorted(prompt.expected - prompt.variables)
        )

    def replaced(self) -> tuple[str, ...]:
        return tuple(sorted(name for name, prompt in self._prompts.items() if prompt.replaced))


def load_prompts(
    benchmark: str,
    names: tuple[str, ...],
    folder: Path | None = None,
    *,
    package: str = "prompts",
    option: str = "--prompts",
) -> Prompts:
    """The named prompts; a file of the same name in `folder`, or in its subfolder of the benchmark's name, replaces.

    Args:
        package: import package that holds ``<benchmark>/<name>.md``.
        option: by which the user named the folder, for messages.

    Raises:
        SpecError: the folder does not exist or replaces none of these prompts, a file in it has a name that no prompt
            has, or a text in it uses a variable that does not exist.
        DataError: a file cannot be read.
    """
    if folder is not None and not folder.is_dir():
        raise SpecError(f"{option} {folder}: no such folder")
    own = {name: _own_file(folder, benchmark, name) for name in names} if folder else {}
    if folder is not None:
        _refuse_misspelt(folder, benchmark, package)
    if folder is not None and not any(own.values()):
        raise SpecError(f"{option} {folder}: holds none of this run's prompts: {', '.join(f'{n}.md' for n in names)}")
    shipped = importlib.resources.files(package) / benchmark
    return Prompts({name: _prompt(name, shipped / f"{name}.md", own.get(name)) for name in names})


def _refuse_misspelt(folder: Path, benchmark: str, package: str) -> None:
    """A file that replaces nothing would leave our text in its place without a word."""
    folders = [place for place in importlib.resources.files(package).iterdir() if place.is_dir()]
    shipped = {place.name: {file.name for file in place.iterdir()} for place in folders}
    known = {name for names in shipped.values() for name in names}
    strangers = [path for path in sorted(folder.glob("*.md")) if path.name not in known]
    strangers += [path for path in sorted((folder / benchmark).glob("*.md")) if path.name not in shipped[benchmark]]
    strangers = [path for path in strangers if path.name.casefold() != "readme.md"]
    if strangers:
        raise SpecError(f"{strangers[0]}: no prompt has this name; there are: {', '.join(sorted(shipped[benchmark]))}")


def _prompt(name: str, shipped: Traversable, own: Path | None) -> Prompt:
    expected = variables_of(ours := _read(shipped))
    if own is None:
        return Prompt(name, ours, expected)
    prompt = Prompt(name, _read(own), expected, replaced=True)
    if unknown := sorted(prompt.variables - expected):
        there_are = ", ".join(sorted(expected)) or "none"
        raise SpecError(f"{own}: uses {{{{{unknown[0]}}}}}, which does not exist; there are: {there_are}")
    return prompt


def _own_file(folder: Path, benchmark: str, name: str) -> Path | None:
    places = (folder / f"{name}.md", folder / benchmark / f"{name}.md")
    return next((path for path in places if path.is_file()), None)


def _read(source: Traversable) -> str:
    try:
        text = source.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{source}: not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise DataError(f"{source}: cannot be read ({error.strerror})") from None
    return text.strip()
