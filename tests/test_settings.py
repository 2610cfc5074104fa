"""Model SPECs, keys and the comparison of settings."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from judge.errors import SpecError
from judge.models.preflight import preflight
from judge.settings import Generation, ModelSpec, RunSpec, Traffic, differences_between, parse_model
from tests.models.helpers import at, chat_on, user
from tests.server import ModelServer, says


@pytest.mark.parametrize(
    ("text", "kind", "name", "url", "variable"),
    [
        ("openai:gpt-4.1", "openai", "gpt-4.1", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        (" openai: gpt-4.1 ", "openai", "gpt-4.1", "https://api.openai.com/v1", "OPENAI_API_KEY"),
        ("http://127.0.0.1:8000/v1#m", "http", "m", "http://127.0.0.1:8000/v1", "MEDJUDGE_API_KEY"),
        ("http://h:8000/v1/#Qwen/Qwen3-8B:q4", "http", "Qwen/Qwen3-8B:q4", "http://h:8000/v1", "MEDJUDGE_API_KEY"),
        ("HTTPS://host.example/api#m", "http", "m", "https://host.example/api", "MEDJUDGE_API_KEY"),
        ("http://[::1]:8000/v1#m", "http", "m", "http://[::1]:8000/v1", "MEDJUDGE_API_KEY"),
        ("hf:/models/a b", "hf", "/models/a b", "", ""),
        ("hf:org/name", "hf", "org/name", "", ""),
        ("anthropic:claude", "provider", "anthropic:claude", "", ""),
        ("replay:runs/a.jsonl", "replay", "runs/a.jsonl", "", ""),
        ("human", "human", "human", "", ""),
        ("embedded", "embedded", "embedded", "", ""),
    ],
)  # fmt: skip
def test_given_a_spec_when_it_is_read_then_its_parts_are(
    text: str, kind: str, name: str, url: str, variable: str
) -> None:
    spec = parse_model(text)
    assert (spec.kind, spec.name, spec.base_url, spec.key_variable) == (kind, name, url, variable)
    assert spec.text == text.strip()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is no model name; give one of openai:gpt-4.1"),
        ("gpt-4.1", "is no model name"),
        (":gpt", "is no model name"),
        ("openai:", "is no model name"),
        ("hf: ", "is no model name"),
        ("http://127.0.0.1:8000/v1", "does not say which model; .* http://127.0.0.1:8000/v1#my-model"),
        ("http://127.0.0.1:8000/v1#", "does not say which model; .* http://127.0.0.1:8000/v1#my-model"),
        ("http:///v1#m", "names no host"),
        ("http:8000#m", "names no host"),
        ("https:#m", "names no host"),
        ("http://host:99999/v1#m", "is no address"),
        ("http://host:port/v1#m", "is no address"),
        ("http://[::1/v1#m", "is no address"),
        ("http://host/v1?api-version=1#m", "without a query or a key"),
        ("http://me:secret@host/v1#m", "--api-key-env"),
        ("http://me:secret@host/v1", "--api-key-env"),
        ("http://me:secret@/v1#m", "--api-key-env"),
        ("http://host/v1?key=secret", "--api-key-env"),
    ],
)
def test_given_a_spec_that_cannot_be_used_when_it_is_read_then_the_error_says_what_to_write(
    text: str, sentence: str
) -> None:
    with pytest.raises(SpecError, match=sentence) as caught:
        parse_model(text)
    assert "secret" not in str(caught.value)


def test_given_another_base_url_when_an_openai_model_is_read_then_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1/")
    assert parse_model("openai:gpt").base_url == "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("spec", "slug"),
    [("http://h/v1#Qwen/Qwen3 8B:q4", "Qwen3-8B-q4"), ("hf:/models/llama/", "llama"), ("hf:..", "hf"),
     ("human", "human"), ("hf:" + "x" * 90, "x" * 40), ("hf:é/\u2028", "hf")],
)  # fmt: skip
def test_given_a_model_when_a_file_is_named_after_it_then_the_name_is_safe(spec: str, slug: str) -> None:
    assert parse_model(spec).slug == slug


async def authorisation(server: ModelServer, spec: ModelSpec) -> tuple[str, dict[str, str]]:
    """The header that the server got, and all of them."""
    server.reset()
    async with chat_on(spec.text, key_variable=spec.key_variable, kind=spec.kind, base_url=server.url) as chat:
        await chat.ask(user(), at())
    (call,) = server.calls
    return call.headers.get("authorization", ""), dict(call.headers)


async def test_given_keys_in_the_environment_when_a_server_is_asked_then_it_gets_only_the_one_meant_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "openai-key-1")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "openai-admin-1")
    monkeypatch.setenv("OPENAI_ORG_ID", "openai-org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "openai-project-1")
    monkeypatch.setenv("OPENAI_PROXY", "http://127.0.0.1:9")
    with ModelServer(says("B")) as server:
        bearer, headers = await authorisation(server, parse_model(server.spec))
        assert bearer == "Bearer none"
        assert "openai-" not in " ".join(headers.values())

        monkeypatch.setenv("MEDJUDGE_API_KEY", " medjudge-key-1\n")
        assert (await authorisation(server, parse_model(server.spec)))[0] == "Bearer medjudge-key-1"

        monkeypatch.setenv("MY_KEY", "my-key-1")
        assert (await authorisation(server, parse_model(server.spec, key_variable="MY_KEY")))[0] == "Bearer my-key-1"

        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        bearer, headers = await authorisation(server, parse_model("openai:test-model"))
        assert bearer == "Bearer openai-key-1"
        assert headers["openai-organization"] == "openai-org-1"


async def test_given_no_key_when_models_are_listed_then_no_header_is_sent() -> None:
    with ModelServer(says("B"), models_key="k") as server:
        assert (await preflight(server.url, "test-model", "k")).models == ("test-model",)


@pytest.mark.parametrize("value", [None, "", "  "])
def test_given_no_key_when_one_is_needed_then_the_error_names_its_variable(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is not None:
        monkeypatch.setenv("OPENAI_API_KEY", value)
        monkeypatch.setenv("MEDJUDGE_API_KEY", value)
    with pytest.raises(SpecError, match="set the environment variable OPENAI_API_KEY"):
        parse_model("openai:gpt").key()
    with pytest.raises(SpecError, match="set the environment variable MY_KEY"):
        parse_model("http://h/v1#m", key_variable="MY_KEY").key()
    assert parse_model("http://h/v1#m").key() == ""
    assert parse_model("human").key() == ""


@pytest.mark.parametrize("value", ["clé-123456", "two\nlines"])
def test_given_a_key_that_no_header_can_carry_when_it_is_read_then_the_error_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    monkeypatch.setenv("MEDJUDGE_API_KEY", value)
    with pytest.raises(SpecError, match="MEDJUDGE_API_KEY holds characters that no key can have") as caught:
        parse_model("http://h/v1#m").key()
    assert value not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Generation, {"temperature": -0.1}),
        (Generation, {"temperature": 2.1}),
        (Generation, {"temperature": float("nan")}),
        (Generation, {"max_tokens": 0}),
        (Generation, {"top_p": 1}),
        (Traffic, {"connections": 0}),
        (Traffic, {"connections": 5000}),
        (Traffic, {"timeout": 0}),
        (Traffic, {"tries": 0}),
        (Traffic, {"total_wait": -1}),
    ],
)
def test_given_a_value_out_of_range_when_settings_are_made_then_they_are_refused(
    kind: Any, values: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError):
        kind(**values)


def run_spec(**values: Any) -> RunSpec:
    fields: dict[str, Any] = {
        "benchmark": "b", "model": parse_model("http://h/v1#m"), "settings": ("full",), "data": "d", "data_hash": "1",
        "tokenizer": "t", "nonce": "n",
    }  # fmt: skip
    return RunSpec(**(fields | values))


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({}, []),
        ({"data": "elsewhere", "nonce": "other", "model": parse_model("http://h/v1#m", key_variable="K")}, []),
        ({"epochs": 2}, ["epochs is 1 in the run, 2 here"]),
        ({"limit": 3}, ["limit is not set in the run, 3 here"]),
        ({"generation": Generation(temperature=0)}, ["generation.temperature is not set in the run, 0.0 here"]),
        ({"settings": ("none",)}, ["settings is ['full'] in the run, ['none'] here"]),
        ({"options": {"x": 1}}, ["options.x is not set in the run, 1 here"]),
        ({"data_hash": "2", "epochs": 2}, ["data_hash is '1' in the run, '2' here", "epochs is 1 in the run, 2 here"]),
    ],
)
def test_given_two_settings_when_they_are_compared_then_what_differs_is_named(
    change: dict[str, Any], parts: list[str]
) -> None:
    assert differences_between(run_spec(), run_spec(**change)) == parts


def test_given_settings_when_they_are_written_and_read_then_they_are_equal() -> None:
    spec = run_spec(generation=Generation(temperature=0, extra_body={"a": [1, {"b": None}]}), options={"x": ["y"]})
    assert RunSpec.model_validate_json(spec.model_dump_json()) == spec
