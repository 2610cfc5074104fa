"""Calls a second through the door, beside the same client on its default transport.

    python -m benchmarks.throughput [--calls 2000] [--connections 64]

The server runs in a process of its own on this machine and answers at once, so the figures are about the client's own
cost; on two cores the server takes one of them.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import openai

from judge.models.address import Address
from judge.models.chat import open_chat
from judge.models.door import Door
from judge.settings import Generation, parse_model

PROMPT = "Question ? " + "une ligne de texte, " * 50


async def through_the_door(url: str, calls: int, connections: int) -> float:
    spec = parse_model(f"{url}#test-model")
    async with open_chat(spec, Generation(temperature=0), Door(), connections=connections) as chat:

        async def ask(number: int) -> None:
            address = Address("benchmark", "none", str(number), 1, "doctor", "turn1")
            await chat.ask([{"role": "user", "content": f"{PROMPT}{number}"}], address)

        return await timed(ask, calls, connections)


async def default_client(url: str, calls: int, connections: int) -> float:
    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def ask(number: int) -> None:
            messages = [{"role": "user", "content": f"{PROMPT}{number}"}]
            await client.chat.completions.create(model="test-model", messages=messages, temperature=0)  # type: ignore[call-overload]

        return await timed(ask, calls, connections)


async def timed(ask: Callable[[int], Awaitable[None]], calls: int, connections: int) -> float:
    """Calls a second with so many workers, after a short warm-up."""
    await asyncio.gather(*(ask(-number) for number in range(1, connections + 1)))
    numbers = iter(range(calls))

    async def work() -> None:
        for number in numbers:
            await ask(number)

    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(connections)))
    return calls / (time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--connections", type=int, default=64)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        port_file = Path(folder) / "port"
        command = [sys.executable, "-m", "tests.server", "--port-file", str(port_file), "--script", "letters"]
        server = subprocess.Popen(command)
        try:
            while not port_file.exists() or not port_file.read_text().strip():
                time.sleep(0.05)
            url = f"http://127.0.0.1:{port_file.read_text().strip()}/v1"
            for name, job in (("through the door", through_the_door), ("openai's default", default_client)):
                rate = asyncio.run(job(url, arguments.calls, arguments.connections))
                print(f"{name:18} {rate:8.0f} calls/s at {arguments.connections} connections, n = {arguments.calls}")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
