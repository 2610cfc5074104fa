"""How the code hangs together: imports point left, starting is light, and a wheel holds what it must."""

from __future__ import annotations

import ast
import importlib.metadata
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT

#: From left to right; a package may import itself and what is left of it.
LAYERS = ("prompts", "judge", "graphs")

HEAVY = ("langchain_core", "langchain_openai", "langgraph", "openai", "instructor", "torch", "transformers", "numpy",
         "pydantic", "rich", "aiohttp", "tenacity")  # fmt: skip


def sources(package: str) -> list[Path]:
    return sorted((CHECKOUT / package).rglob("*.py"))


def imported(file: Path) -> set[str]:
    """Top-level packages that a file imports anywhere, for type checking included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative imports hide where an import points"
            found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.parametrize("package", LAYERS)
def test_imports_only_point_left(package: str) -> None:
    forbidden = {*LAYERS[LAYERS.index(package) + 1 :], "tests", "fixtures", "medjudge"}
    wrong = {str(file.relative_to(CHECKOUT)): found for file in sources(package)
             if (found := imported(file) & forbidden)}  # fmt: skip
    assert not wrong


def test_one_benchmark_does_not_import_another() -> None:
    for folder in (path for path in (CHECKOUT / "graphs").iterdir() if path.is_dir() and path.name != "__pycache__"):
        others = {path.name for path in folder.parent.iterdir() if path.is_dir()} - {folder.name}
        for file in folder.rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            assert not any(f"graphs.{other}" in text for other in others), file


def test_only_settings_and_what_starts_processes_read_the_environment() -> None:
    texts = {file.relative_to(CHECKOUT).as_posix(): file.read_text(encoding="utf-8")
             for package in LAYERS for file in sources(package)}  # fmt: skip
    readers = {name for name, text in texts.items() if "os.environ" in text or "getenv" in text}
    assert readers <= {"judge/settings.py"}


def loaded_by(*arguments: str) -> set[str]:
    """Top-level modules that a command has imported when it ends."""
    code = (
        "import sys, medjudge\n"
        f"sys.argv = ['medjudge', *{arguments!r}]\n"
        "try:\n    medjudge.main()\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "print('\\n' + ' '.join({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("\n\n")[2].split() or done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(argument: str) -> None:
    found = loaded_by(argument)
    assert "click" in found
    assert not found & set(HEAVY)


def test_a_list_of_benchmarks_needs_no_model_library() -> None:
    found = loaded_by("list")
    assert "graphs" in found
    assert not found & {"langchain_core", "langchain_openai", "langgraph", "openai", "instructor", "torch",
                        "transformers", "aiohttp"}  # fmt: skip


def project() -> dict[str, object]:
    return dict(tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")))


def listed_packages() -> list[str]:
    return list(project()["tool"]["setuptools"]["packages"])  # type: ignore[index]


def test_every_package_is_listed_for_the_wheel() -> None:
    listed = listed_packages()
    there = {
        str(file.parent.relative_to(CHECKOUT)).replace(os.sep, ".")
        for package in LAYERS
        for file in (CHECKOUT / package).rglob("__init__.py")
    }
    assert set(listed) == there
    for package in LAYERS:
        for file in sources(package):
            assert (file.parent / "__init__.py").exists(), f"{file} is in no package"


def test_every_library_that_is_imported_is_a_declared_dependency() -> None:
    """Directly or as an extra: what comes only through another library may go with it."""
    own = project()["project"]
    declared = [*own["dependencies"], *(line for extra in own["optional-dependencies"].values() for line in extra)]  # type: ignore[index]
    names = {line.split("[")[0].split(">")[0].split("=")[0].split("<")[0].strip().lower() for line in declared}
    names |= {"aiohttp", "httpx2"}  # openai[aiohttp] is declared
    optional = {"xllamacpp", "tokenizers", "langchain", "langchain_core"}  # imported where a user's choice needs them
    distributions = importlib.metadata.packages_distributions()
    missing = set()
    for package in LAYERS:
        for file in sources(package):
            for module in imported(file) - set(LAYERS) - set(sys.stdlib_module_names) - optional:
                if not {name.lower() for name in distributions.get(module, [module])} & names:
                    missing.add(f"{module} ({file.relative_to(CHECKOUT)})")
    assert not missing


def test_a_wheel_holds_the_prompts_and_neither_tests_nor_fixtures(tmp_path: Path) -> None:
    setuptools = importlib.metadata.version("setuptools")
    if int(setuptools.split(".")[0]) < 77:
        pytest.skip(f"needs setuptools 77 or newer to build, here is {setuptools}")
    copy = tmp_path / "source"  # building writes into the source folder
    copy.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "medjudge.py", *LAYERS, "tests", "fixtures"):
        source = CHECKOUT / name
        (copy / name).symlink_to(source, target_is_directory=source.is_dir())
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet", "--no-index",
         "--disable-pip-version-check", "--wheel-dir", str(tmp_path), str(copy)],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    prompts = {path.relative_to(CHECKOUT).as_posix() for path in (CHECKOUT / "prompts").rglob("*.md")}
    folders = [CHECKOUT / name.replace(".", "/") for name in listed_packages()]
    modules = {path.relative_to(CHECKOUT).as_posix() for folder in folders for path in folder.glob("*.py")}
    assert prompts | modules | {"medjudge.py"} <= held
    assert not [name for name in held if name.startswith(("tests/", "fixtures/"))]


def refusal(folder: Path, *command: object) -> str:
    """The one line with which a command refuses to start when `folder` comes first on the path."""
    environment = os.environ | {"PYTHONPATH": str(folder)}
    done = subprocess.run([*map(str, command), "list"], capture_output=True, text=True, cwd=folder, env=environment,
                          check=False)  # fmt: skip
    assert done.returncode != 0
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """Starts medjudge with the checkout last on the path; `python -m medjudge` would put it first."""
    file = tmp_path / "start.py"
    code = f"import sys; sys.path.append({str(CHECKOUT)!r})\nimport medjudge\nmedjudge.main()"
    file.write_text(code, encoding="utf-8")
    return file


@pytest.mark.parametrize("name", LAYERS)
def test_somebody_else_s_package_of_our_name_is_refused_in_one_sentence(
    tmp_path: Path, script: Path, name: str
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("", encoding="utf-8")
    line = refusal(tmp_path, sys.executable, script)
    assert f"the package {name!r} that Python finds ({tmp_path / name}) is not medjudge's" in line
    assert "environment of its own" in line


@pytest.mark.parametrize("code", ["raise SystemExit('pay me')", "import nothing_of_this_name", "("])
def test_somebody_else_s_package_that_fails_on_import_is_refused_too(tmp_path: Path, script: Path, code: str) -> None:
    (tmp_path / "judge.py").write_text(code, encoding="utf-8")
    assert "the package 'judge' cannot be imported" in refusal(tmp_path, sys.executable, script)


def test_the_command_that_is_installed_refuses_too(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("medjudge")
    if not command.exists():
        pytest.skip("medjudge is not installed in this environment")
    (tmp_path / "graphs").mkdir()
    (tmp_path / "graphs" / "__init__.py").write_text("", encoding="utf-8")
    assert "the package 'graphs'" in refusal(tmp_path, command)
