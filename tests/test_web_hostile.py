"""Hostile input: only 4xx, nothing stored, nothing executed."""

import contextlib
import csv
import json
from unittest import SkipTest

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

import mallowmix as mm
from mallowmix.errors import DataError, FileError, OptionError
from mallowmix.web.application import create_app
from mallowmix.web.item_names import clean_name, read_items
from mallowmix.web.security import POLICY
from mallowmix.web.server import listening
from mallowmix.web.settings import Settings
from mallowmix.web.site import Site
from tests.command_line import run

NASTY = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% raw %}",
    "'; DROP TABLE votes; --",
    "${alert(1)}`javascript:alert(1)`",
    "مرحبا بالعالم",
    "שלום עולם",
    "=HYPERLINK(1)",
    "../../etc/passwd",
    "a&amp;b",
    "🍕" * 30,
    "%00%0d%0aSet-Cookie: x=1",
]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    model = mm.M4.from_orders([NASTY, NASTY[::-1]], phi=0.3)
    return Site(
        str(tmp_path_factory.mktemp("web") / "v.db"),
        Settings(rate=0.0, admin_token="x" * 20, propose=True),
        model=model,
    )


@pytest.fixture(scope="module")
def client(site):
    with TestClient(create_app(site), raise_server_exceptions=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def person(client):
    told = client.post("/api/v1/people", json={"token": True}).json()
    client.cookies.clear()
    return {"Authorization": f"Bearer {told['token']}"}


def stored(site):
    return site.store.counts(), len(site.store.items())


def calls_of(client):
    schema = schemathesis.openapi.from_dict(client.get("/api/openapi.json").json())
    calls = [operation.ok() for operation in schema.get_all_operations()]
    return [call for call in calls if call.path != "/api/v1/events"]  # never ends; it takes nothing


def checker(call, mode, client, headers, tried):
    """A test of one call with cases that fit its description (positive) or do not (negative)."""

    @settings(
        max_examples=8,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=call.as_strategy(generation_mode=schemathesis.GenerationMode(mode)))
    def check(case):
        sent = (
            json.dumps(case.body)
            if isinstance(case.body, dict | list | str | int | float | None)
            else None
        )
        answer = client.request(
            case.method,
            case.formatted_path,
            params=case.query or None,
            content=sent,
            headers=headers,
        )
        client.cookies.clear()
        tried.add((case.path, answer.status_code))
        assert answer.status_code < 500, (case.method, case.path, answer.text)
        assert str(answer.status_code) in call.definition.raw["responses"], (
            case.method,
            case.path,
            answer.status_code,
        )

    return check


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_every_call_of_the_api_survives_whatever_it_is_given(client, person, mode):
    """What fits the OpenAPI description and what does not, by schemathesis: no server error, no
    answer that is not described.
    """
    tried = set()
    for number, call in enumerate(calls_of(client)):
        headers = {"Content-Type": "application/json"} | ({} if number % 4 == 3 else person)
        if call.method != "delete":  # would end the session of the others
            # a call that takes nothing has nothing wrong to be given
            with contextlib.suppress(Unsatisfiable, SkipTest):
                checker(call, mode, client, headers, tried)()
    assert len(tried) > 10


RAW = [
    b"",
    b"{",
    b"[" * 20_000,
    b"null",
    b"NaN",
    b'{"key": "\\ud800abcdefgh", "first": 1, "second": 2, "choice": "first"}',
    b'{"key": "abcdefghij", "first": 1e400, "second": 2, "choice": "first"}',
    b'{"key": "abcdefghij", "first": 99999999999999999999, "second": 2, "choice": "first"}',
    b'{"key": "abcdefghij", "first": true, "second": 2, "choice": "first"}',
    b'{"key": "abc\\u0000defgh", "first": 1, "second": 2, "choice": "first"}',
    b'{"key": "\' OR 1=1; --", "first": 1, "second": 2, "choice": "first"}',
    b'{"key": "abcdefghij", "first": 1, "second": 1, "choice": "first"}',
    b'{"key": "abcdefghij", "first": 1, "second": 5000, "choice": "first"}',
    b'{"key": "abcdefghij", "first": 1, "second": 2, "choice": "first", "person": 1}',
    b"\xff\xfe\x00",
]


@pytest.mark.parametrize("path", ["votes", "weights", "predict", "rank", "items", "people"])
@pytest.mark.parametrize("body", RAW, ids=lambda body: body[:30].decode("latin-1"))
def test_bodies_that_are_no_request(client, site, person, path, body):
    before = stored(site)[0]["votes"], stored(site)[1]
    answer = client.post(
        f"/api/v1/{path}", content=body, headers=person | {"Content-Type": "application/json"}
    )
    client.cookies.clear()
    assert 400 <= answer.status_code < 500 or (
        path == "people" and body in (b"", b"null") and answer.status_code == 201
    )
    assert isinstance(answer.json(), dict)
    assert (stored(site)[0]["votes"], stored(site)[1]) == before


def test_bodies_of_ten_megabytes_are_refused_unread(client, person):
    big = b'{"choices": [' + b'{"winner": "a", "loser": "b"},' * 350_000 + b"]}"
    assert len(big) > 10_000_000
    for path in ("/api/v1/weights", "/api/v1/votes", "/admin/login"):
        assert client.post(path, content=big, headers=person).status_code == 413

    def dribble():
        for _ in range(200):
            yield b"x" * 1000

    assert client.post("/api/v1/votes", content=dribble(), headers=person).status_code == 413


def test_names_with_markup_are_text_everywhere(client, person):
    """In JSON they come back as they are; in HTML, escaped; the admin's export keeps them whole."""
    assert client.get("/api/v1/model").json()["items"] == sorted(NASTY)
    admin = TestClient(client.app, headers={"Authorization": f"Bearer {'x' * 20}"})
    page = admin.get("/admin").text
    assert (
        "<script>alert" not in page
        and "&lt;script&gt;alert" in page
        and "<img src=x" not in page
        and "49" not in page[:200]
    )
    asked = client.get("/api/v1/next-pair", headers=person).json()
    vote = {
        "key": "nasty-names",
        "first": asked["first"]["id"],
        "second": asked["second"]["id"],
        "choice": "first",
    }
    assert client.post("/api/v1/votes", headers=person, json=vote).status_code == 200
    row = admin.get("/admin/votes.csv").text.splitlines()[1]
    assert asked["first"]["name"].replace('"', '""') in row
    assert (
        client.get("/r/" + "%3Cscript%3Ealert(1)%3C%2Fscript%3E").text.count("<script>alert") == 0
    )


def test_replays_and_wrong_tokens_store_nothing(client, site, person):
    asked = client.get("/api/v1/next-pair", headers=person).json()
    vote = {
        "key": "replayed-key",
        "first": asked["first"]["id"],
        "second": asked["second"]["id"],
        "choice": "second",
    }
    assert client.post("/api/v1/votes", headers=person, json=vote).json()["repeated"] is False
    before = stored(site)
    assert all(
        client.post("/api/v1/votes", headers=person, json=vote).json()["repeated"]
        for _ in range(20)
    )
    for token in ("", "x", "x" * 5000, "é", "Bearer", "' OR ''='", person["Authorization"][7:-1]):
        headers = {"Authorization": f"Bearer {token}".encode()}
        assert client.post(
            "/api/v1/votes", headers=headers, json=vote | {"key": "other-key-1"}
        ).status_code in (401, 403)
    assert stored(site) == before


def test_hosts_and_rates(tmp_path):
    model = mm.M4.from_orders([["a", "b", "c"]])
    site = Site(
        str(tmp_path / "v.db"), Settings(rate=2.0, hosts=("127.0.0.1", "[::1]")), model=model
    )
    with TestClient(create_app(site), base_url="http://127.0.0.1:8000") as client:
        assert client.get("/api/health").status_code == 200
        assert client.get("/api/health", headers={"Host": "[::1]:8000"}).status_code == 200
        for host in ("evil.example", "127.0.0.1.evil.example", "", "localhost:8000"):
            assert client.get("/api/health", headers={"Host": host}).status_code == 421
        token = client.post("/api/v1/people", json={"token": True}).json()["token"]
        said = [
            client.get("/api/v1/me", headers={"Authorization": f"Bearer {token}"})
            for _ in range(30)
        ]
        codes = [answer.status_code for answer in said]
        # ten seconds' worth at once, then two a second
        assert codes[:20] == [200] * 20 and 429 in codes[20:]
        assert int(said[-1].headers["retry-after"]) >= 1
        client.cookies.clear()
        assert client.get("/api/health").status_code == 200  # another bucket


def test_newcomers_from_one_address_are_limited(tmp_path):
    site = Site(
        str(tmp_path / "v.db"), Settings(rate=1.0), model=mm.M4.from_orders([["a", "b", "c"]])
    )
    with TestClient(create_app(site)) as client:
        codes = []
        for _ in range(14):
            client.cookies.clear()
            codes.append(client.post("/api/v1/people", json={}).status_code)
    assert codes == [201] * 10 + [429] * 4


def test_an_address_that_is_taken_is_said_in_words():
    taken = pytest.raises(
        OptionError, match=r"cannot be listened on: .*in use.* Choose another with port"
    )
    with listening("127.0.0.1", 0) as line, taken:
        listening("127.0.0.1", line.getsockname()[1])
    with pytest.raises(OptionError, match="cannot be listened on"):
        listening("127.0.0.1", 99999)


def test_the_policy_allows_nothing_but_our_own_files():
    assert (
        "unsafe" not in POLICY
        and "*" not in POLICY
        and "data:" not in POLICY
        and "default-src 'none'" in POLICY
    )


# ---- the start of a server ----


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "is empty"),
        (" \t ", "is empty"),
        ("x" * 121, "at most 120 fit"),
        ("a\x07b", "control character"),
        ("a\u202eb", "control"),
        ("a\u200bb", r"invisible or control character in it .U.200B."),
        ("te\u200da", "invisible"),
        ("\u200ftea", "invisible"),
        ("te\u00ada", "invisible"),
        ("\ufefftea", "invisible"),
        ("tea\U000e0041", "invisible"),
        ("\u3164", "invisible"),
        ("\u2800\u2800", "invisible"),
        ("\u0301", "shows nothing"),
        ("\ufe0f", "invisible"),
        ("tea\ufe0f", r"invisible or control character in it .U.FE0F."),
        ("te\ufe00a", "invisible"),
        ("❤\ufe01", "invisible"),
        ("❤\ufe0f\ufe0f", "invisible"),  # once is enough
        ("❤\u200d\ufe0f", "invisible"),
        ("7\ufe0f", "invisible"),  # no keycap
        ("a+\ufe0f", "invisible"),
        ("5$\ufe0f", "invisible"),
        ("te\u034fa", "invisible"),
        ("te\u180ba", "invisible"),
        ("te\u180fa", "invisible"),
        ("tea\U000e0100", r"U.E0100"),
        ("葛\ufe0f", "invisible"),
        ("葛\u180b", "invisible"),
        ("ᠠ\U000e0100", "invisible"),
        ("te\u2065a", "invisible"),  # what no character has yet
        ("tea\ufff0", "invisible"),
        ("tea\ufff8", "invisible"),
        ("tea\U000e0000", "invisible"),
        ("tea\U000e0fff", "invisible"),
    ],
)
def test_names_that_cannot_be(name, words):
    with pytest.raises(DataError, match=words):
        clean_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "می‌خواهم",  # with a zero-width non-joiner, as it is written
        "क्‍ष",
        "👩‍🍳",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "❤️",
        "❤\ufe0e",
        "ℹ️ ‼️ ⁉️ 〰️",
        "❤️\u200d🔥",
        "👁️\u200d🗨️ and ↔️",
        "7️⃣ #️⃣ *️⃣",
        "葛\U000e0100城",
        "𠮟\U000e0101",
        "ᠠ\u180bᠡ\u180f",
        "tired \U0001fae9",  # an emoji that an older Python does not know
        "ญี่ปุ่น",
        "שלום",
        "7",
        "+",
    ],
)
def test_names_of_all_languages_can_be(name):
    assert clean_name(name) == name


def test_a_model_with_an_invisible_name_is_not_served(tmp_path):
    model = mm.M4.from_orders([["tea", "te\u200ba"]])
    with pytest.raises(DataError, match="invisible"):
        Site(str(tmp_path / "v.db"), Settings(), model=model)


def test_lists_of_items(tmp_path):
    file = tmp_path / "items.csv"
    file.write_text("a\n b  c \n\nd\na\n", encoding="utf-8")
    assert read_items(file) == ["a", "b c", "d"]
    file.write_text('id,item\n1,"x, y"\n2,z\n', encoding="utf-8")
    assert read_items(file) == ["x, y", "z"]
    file.write_text("only\n", encoding="utf-8")
    with pytest.raises(DataError, match="names 1 items; a survey needs from 2"):
        read_items(file)
    with pytest.raises(FileError, match="There is no file"):
        read_items(tmp_path / "nothing.csv")
    file.write_bytes(b"\xff\xfea\n")
    with pytest.raises(FileError, match="is not text in UTF-8: save a list of items"):
        read_items(file)


def test_a_line_of_a_list_is_an_item_as_it_is(tmp_path):
    file = tmp_path / "items.txt"
    lines = ["Peace, love", '"Free, and open"', 'The 12" record', '"Quote', "a", 'say ""hi""']
    for header in ("", "item\n", "Name\n"):
        file.write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
        expected = ["Peace, love", "Free, and open", 'The 12" record', '"Quote', "a", 'say ""hi""']
        assert read_items(file) == expected


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(
        st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1).filter(
            lambda name: clean_name(name).lower() not in ("item", "name")
        ),
        min_size=2,
        max_size=6,
        unique_by=clean_name,
    )
)
def test_names_with_commas_and_quotes_come_back(tmp_path_factory, names):
    file = tmp_path_factory.mktemp("items") / "items.csv"
    with file.open("w", encoding="utf-8", newline="") as text:
        csv.writer(text).writerows([("id", "item"), *enumerate(names)])
    assert read_items(file) == [clean_name(name) for name in names]
    quoted = ('"' + name.replace('"', '""') + '"' for name in names)
    file.write_text("\n".join(quoted), encoding="utf-8")
    assert read_items(file) == [clean_name(name) for name in names]


@pytest.mark.parametrize("text", ["id,item\n1,Peace, love\n2,b\n", 'id,item\n1,"a\n2,b\n3,c\n'])
def test_a_table_of_items_whose_fields_run_over_is_refused(tmp_path, text):
    (tmp_path / "items.csv").write_text(text)
    with pytest.raises(FileError, match=r"items.csv line"):
        read_items(tmp_path / "items.csv")


def test_the_command_says_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (
        "nothing to ask about: name a model file, or a list of items with --items"
        in run("serve", code=2)[1]
    )
    assert "There is no model file nothing.m4" in run("serve", "nothing.m4", code=1)[1]
    (tmp_path / "items.csv").write_text("a\nb\n", encoding="utf-8")
    _, error = run("serve", "--items", "items.csv", "--admin-token", "short", code=2)
    assert "The admin token has 5 characters; give at least 12" in error and "short" not in error
    out, _ = run("serve", "--items", "items.csv", "--check")
    assert out == "2 items, no model yet, 0 votes in votes.db.\n"
    with pytest.raises(OptionError, match="rate is -1"):
        Settings(rate=-1)
