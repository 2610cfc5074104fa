"""Runs and their documents, made once for all tests of reports."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from judge.report.document import Document, Wanted, build_document
from judge.runs.store import benchmark_of, open_run
from tests.conftest import Command
from tests.report.runs import demo_run, hostile_run

CUTOFF = date(2024, 7, 16)


def document_of(run: Path, wanted: Wanted) -> Document:
    store = open_run(run, write=False)
    try:
        return build_document(store, benchmark_of(store), wanted)
    finally:
        store.close()


@pytest.fixture(scope="session")
def demo(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo_run(cli, tmp_path_factory.mktemp("report") / "demo")


@pytest.fixture(scope="session")
def hostile(cli: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hostile_run(cli, tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="session")
def demo_document(demo: Path) -> Document:
    return document_of(demo, Wanted(cutoff=CUTOFF))


@pytest.fixture(scope="session")
def hostile_document(hostile: Path) -> Document:
    return document_of(hostile, Wanted())
