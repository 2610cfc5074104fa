"""The door over a real server: addresses, the store, stopping and the connection limit."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest

from judge.errors import BodyMismatch, CallFailed, Interrupted, MedjudgeError
from judge.models.address import calling, current_call
from judge.models.chat import openai_client, own_error
from judge.models.door import Door, Endpoint
from judge.models.retry import RetryPolicy
from judge.models.transport import DoorTransport, http_client
from judge.settings import Generation, parse_model
from tests.models.helpers import FAST, NO_RETRY, MemoryStore, at, chat_on, until, user
from tests.server import ModelServer, Reply, Request, error, hangs, says


def endpoint_of(server: ModelServer, connections: int = 4) -> Endpoint:
    return Endpoint(server.url, asyncio.Semaphore(connections))


async def test_given_a_server_when_it_is_asked_then_text_usage_and_names_come_back() -> None:
    reply = says("Answer: B", system_fingerprint="fp_1", finish_reason="stop")
    with ModelServer(reply) as server:
        async with chat_on(server) as chat:
            said = await chat.ask(user("one two three"), at())

    assert (said.text, said.unscored, said.finish_reason) == ("Answer: B", None, "stop")
    assert (said.usage.prompt, said.usage.completion) == (3, 2)
    assert (said.served_model, said.fingerprint) == ("test-model", "fp_1")


async def test_given_many_addresses_when_all_are_asked_then_each_is_kept_with_its_own_answer() -> None:
    store = MemoryStore()
    addresses = [
        at(f"case {n}", epoch=epoch, role=role) for n in range(20) for epoch in (1, 2) for role in ("doctor", "judge")
    ]
    with ModelServer(lambda request: says(f"echo {request.text}")) as server:
        async with chat_on(server, Door(store=store)) as chat:
            replies = await asyncio.gather(*(chat.ask(user(str(address)), address) for address in addresses))

    assert [reply.text for reply in replies] == [f"echo {address}" for address in addresses]
    assert set(store.kept) == {str(address) for address in addresses}
    assert all(attempt[-1].body["messages"] == user(address) for address, attempt in store.kept.items())


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (at("a/b"), "bench/full/a%2Fb/1/doctor/turn1/1"),
        (at("é 1"), "bench/full/%C3%A9%201/1/doctor/turn1/1"),
        (at("../x", step="effectiveness/3", ask=2), "bench/full/..%2Fx/1/doctor/effectiveness%2F3/2"),
    ],
)
def test_given_names_with_slashes_when_an_address_is_written_then_its_parts_stay_apart(address: Any, text: str) -> None:
    assert str(address) == text


async def test_given_two_requests_in_one_call_when_they_are_sent_then_their_asks_are_1_and_2() -> None:
    store = MemoryStore()
    with ModelServer([says("first"), says("second")]) as server:
        endpoint = endpoint_of(server)
        async with openai_client(parse_model(server.spec), server.url, http_client(Door(store=store), endpoint)) as api:
            with calling(at()) as call:
                for _ in range(2):
                    await api.chat.completions.create(model="test-model", messages=user())  # type: ignore[arg-type]

    assert [exchange.address for exchange in call.exchanges] == [str(at(ask=1)), str(at(ask=2))]


async def test_given_no_call_when_a_request_is_sent_then_it_is_an_error_and_nothing_leaves() -> None:
    with ModelServer(says("never")) as server:
        async with openai_client(parse_model(server.spec), server.url, http_client(Door(), endpoint_of(server))) as api:
            with pytest.raises(Exception, match="Connection error") as caught:
                await api.chat.completions.create(model="test-model", messages=user())  # type: ignore[arg-type]
        assert not server.calls

    assert "without an address" in str(own_error(caught.value))


def test_given_no_call_when_the_current_one_is_asked_for_then_the_error_says_what_to_do() -> None:
    with pytest.raises(MedjudgeError, match="wrap it in `calling"):
        current_call()


async def test_given_a_stored_answer_when_it_is_asked_again_then_no_request_is_sent() -> None:
    store = MemoryStore()
    with ModelServer(says("B")) as server:
        async with chat_on(server, Door(store=store)) as chat:
            first = await chat.ask(user(), at())
        door = Door(store=store)
        async with chat_on(server, door) as chat:
            second = await chat.ask(user(), at())
        assert len(server.calls) == 1

    assert first == second
    assert (door.traffic.sent, door.traffic.stored) == (0, 1)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"generation": Generation(max_tokens=5)}, "max_tokens: not sent -> 5"),
        ({"generation": Generation(temperature=0)}, "temperature: not sent -> 0.0"),
        ({"question": "Which option is wrong?"}, "messages[0].content: "),
        ({"name": "other-model"}, 'model: "test-model" -> "other-model"'),
    ],
)
async def test_given_a_stored_answer_when_the_request_differs_then_the_error_names_what_changed(
    change: dict[str, Any], named: str
) -> None:
    store = MemoryStore()
    with ModelServer(says("B")) as server:
        async with chat_on(server, Door(store=store)) as chat:
            await chat.ask(user(), at())
        spec = {"name": change["name"]} if "name" in change else {}
        async with chat_on(server, Door(store=store), change.get("generation"), **spec) as chat:
            with pytest.raises(BodyMismatch) as caught:
                await chat.ask(user(change.get("question", user()[0]["content"])), at())
        assert len(server.calls) == 1

    assert named in str(caught.value)
    assert str(at()) in str(caught.value)


async def test_given_a_failed_exchange_when_it_is_asked_again_then_it_is_sent_and_the_new_attempt_counts() -> None:
    store = MemoryStore()
    with ModelServer([error(500, "down"), says("B")]) as server:
        async with chat_on(server, Door(store=store, retry=NO_RETRY)) as chat:
            with pytest.raises(CallFailed):
                await chat.ask(user(), at())
            assert (await chat.ask(user(), at())).text == "B"
            assert (await chat.ask(user(), at())).text == "B"
        assert len(server.calls) == 2

    failed, done = store.kept[str(at())]
    assert (failed.completed, failed.status, failed.error) == (
        False,
        500,
        "server_error: HTTP 500: down (after 1 tries)",
    )
    assert (done.completed, done.attempt, done.status) == (True, 2, 200)


async def test_given_a_store_that_cannot_keep_when_an_answer_comes_then_nobody_gets_to_use_it() -> None:
    store = MemoryStore()

    def refuse(exchange: Any) -> None:
        raise MedjudgeError("disk full")

    store.before_keep = refuse
    with ModelServer(says("B")) as server:
        async with chat_on(server, Door(store=store)) as chat:
            with pytest.raises(MedjudgeError, match="disk full"):
                await chat.ask(user(), at())


async def test_given_a_retried_call_when_it_succeeds_then_exactly_one_request_was_sent_per_try() -> None:
    store = MemoryStore()
    with ModelServer([error(500, "a"), error(502, "b"), says("B")]) as server:
        async with chat_on(server, Door(store=store, retry=FAST)) as chat:
            await chat.ask(user(), at())
        assert len(server.calls) == 3
        assert "x-stainless-retry-count" not in server.calls[0].headers or all(
            call.headers["x-stainless-retry-count"] == "0" for call in server.calls
        )

    assert store.last.tries == 3


async def test_given_a_call_refused_after_retries_when_it_is_kept_then_all_its_requests_are_counted() -> None:
    store = MemoryStore()
    with ModelServer([error(500, "a"), error(500, "b"), error(422, "bad")]) as server:
        async with chat_on(server, Door(store=store, retry=FAST)) as chat:
            with pytest.raises(CallFailed) as caught:
                await chat.ask(user(), at())

    assert (store.last.tries, store.last.status, caught.value.attempts) == (3, 422, 3)


async def test_given_a_connection_limit_when_many_are_asked_then_the_server_never_sees_more_at_once() -> None:
    with ModelServer(says("B"), latency=0.02) as server:
        async with chat_on(server, connections=3) as chat:
            await asyncio.gather(*(chat.ask(user(), at(str(n))) for n in range(24)))
        assert 2 <= server.max_in_flight <= 3


async def test_given_calls_under_way_queued_and_waiting_when_it_stops_then_only_what_was_sent_is_finished() -> None:
    store = MemoryStore()

    def script(request: Request) -> Reply:
        return error(503, "later", retry_after=30) if "retry" in request.text else says("B", latency=0.3)

    door = Door(store=store, retry=RetryPolicy(tries=3, total_wait=100))
    with ModelServer(script) as server:
        async with chat_on(server, door, connections=2) as chat:
            retrying = asyncio.create_task(chat.ask(user("retry"), at("retry")))
            in_flight = asyncio.create_task(chat.ask(user(), at("in flight")))
            await asyncio.to_thread(server.wait_for_calls, 2)
            await until(lambda: any("retry" in waiting.state for waiting in door.traffic.outstanding.values()))
            queued = [asyncio.create_task(chat.ask(user(), at(f"queued {n}"))) for n in range(3)]
            await asyncio.sleep(0.02)
            door.stop()  # a wait of 100 s, if it did not break it off
            ended = await asyncio.gather(retrying, in_flight, *queued, return_exceptions=True)
        assert len(server.calls) == 2

    assert [type(end) for end in ended if isinstance(end, Exception)] == [Interrupted] * 4
    assert list(store.kept) == [str(at("in flight"))]
    assert not door.traffic.outstanding


async def test_given_a_stopped_door_when_an_answer_is_stored_then_it_is_still_served() -> None:
    store = MemoryStore()
    with ModelServer(says("B")) as server:
        async with chat_on(server, Door(store=store)) as chat:
            await chat.ask(user(), at())
        door = Door(store=store)
        door.stop()
        async with chat_on(server, door) as chat:
            assert (await chat.ask(user(), at())).text == "B"
            with pytest.raises(Interrupted):
                await chat.ask(user(), at("new"))


async def test_given_a_call_under_way_when_it_is_looked_at_then_its_address_and_state_show() -> None:
    door = Door(timeout=0.3, retry=NO_RETRY)
    with ModelServer(hangs()) as server:
        async with chat_on(server, door) as chat:
            task = asyncio.create_task(chat.ask(user(), at()))
            await asyncio.to_thread(server.wait_for_calls, 1)
            (waiting,) = door.traffic.outstanding.values()
            assert (waiting.address, waiting.state, waiting.tries) == (str(at()), "sent", 1)
            with pytest.raises(CallFailed):
                await task


async def test_given_answers_when_they_are_counted_then_the_traffic_adds_up() -> None:
    door = Door(retry=FAST)
    with ModelServer([error(500, "x"), says("a b"), says("c"), error(422, "no")]) as server:
        async with chat_on(server, door) as chat:
            for n in range(2):
                await chat.ask(user("one two"), at(str(n)))
            with pytest.raises(CallFailed):
                await chat.ask(user("one two"), at("2"))

    seen = door.traffic
    assert (seen.sent, seen.retries, seen.answered, seen.failed) == (4, 1, 2, 1)
    assert (seen.prompt_tokens, seen.completion_tokens) == (4, 3)


async def test_given_a_transport_when_a_timeout_hits_in_the_middle_of_a_body_then_the_connection_is_given_back() -> (
    None
):
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
        await writer.drain()
        await reader.read()  # until the client hangs up
        writer.close()

    listener = await asyncio.start_server(half, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1/chat/completions"
    door = Door(timeout=0.1, retry=NO_RETRY)
    transport = DoorTransport(door, Endpoint("half", asyncio.Semaphore(1)))
    with calling(at()), pytest.raises(CallFailed) as caught:
        await transport.handle_async_request(httpx2.Request("POST", url, json={"model": "m"}))
    async with asyncio.timeout(2):
        await listener.start_serving()
        listener.close()
        await listener.wait_closed()
    await transport.aclose()

    assert caught.value.reason == "timeout"


async def test_given_a_failure_being_handled_when_another_call_gets_an_odd_reply_then_they_are_not_mixed_up() -> None:
    with ModelServer([error(422, "no"), Reply(choices_empty=True)]) as server:
        async with chat_on(server) as chat:
            try:
                await chat.ask(user(), at("first"))
            except CallFailed:
                reply = await chat.ask(user(), at("second"))

    assert reply.unscored is not None
    assert reply.unscored.reason == "empty_choices"


async def test_given_two_roles_at_one_endpoint_when_both_are_asked_then_they_share_its_limit() -> None:
    door = Door()
    with ModelServer(says("B", latency=0.1)) as server:
        async with chat_on(server, door, connections=2) as doctor, chat_on(server, door, connections=2) as examiner:
            asked = [model.ask(user(str(n)), at(str(n))) for n in range(6) for model in (doctor, examiner)]
            await asyncio.gather(*asked)
        assert server.max_in_flight == 2
