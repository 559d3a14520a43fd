"""What one client can do to the others: costs, queues, slow connections, signals.

Where a server is started, nothing is measured in seconds but that something ends at all: what would
hang, hangs for minutes.
"""

import asyncio
import json
import signal
import threading
import time

import numpy as np
import pytest
from fastapi.testclient import TestClient

import mallowmix as mm
from mallowmix.data import comparisons
from mallowmix.data.labels import text_of
from mallowmix.web import events, known_people, model_api, server
from mallowmix.web.addresses import counted_address
from mallowmix.web.application import create_app
from mallowmix.web.connection_limits import ConnectionLimits
from mallowmix.web.known_people import KnownPeople
from mallowmix.web.prepared_answers import ServedModel
from mallowmix.web.schema import models
from mallowmix.web.settings import Settings
from mallowmix.web.site import Site
from mallowmix.web.work_pool import Busy, WorkPool
from tests.web_process import PATIENCE, ScriptedServer, answer

MODEL = mm.M4.from_orders([list("abcdef"), list("fedcba")], phi=0.3)
HEALTH = "GET /api/v1/health HTTP/1.1"


def until(happened):
    """Wait for something that must happen."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def client(tmp_path):
    site = Site(str(tmp_path / "v.db"), Settings(rate=0.0), model=MODEL)
    with TestClient(create_app(site)) as opened:
        yield opened


# ---- what a request costs ----


@pytest.mark.parametrize("path", ["weights", "rank", "predict"])
def test_choices_count_as_often_as_they_were_made(client, path):
    """600 choices a thousand times each were 600,000 tokens to draw, out of 40 kB."""
    more = {"pairs": [["a", "b"]]} if path == "predict" else {}
    choice = {"winner": "a", "loser": "b"}
    costly = {"choices": [choice | {"times": 1000}] * 600} | more
    said = client.post(f"/api/v1/{path}", json=costly)
    assert said.status_code == 422 and "more than 2,000 times" in said.json()["detail"]
    just = {"choices": [choice | {"times": 1000}, choice | {"times": 999.5}]} | more
    assert client.post(f"/api/v1/{path}", json=just).status_code == 200


def test_choices_of_a_known_person_can_be_sent_back(tmp_path):
    rows = [("u", "a", "b"), ("u", "c", "d"), ("u", "e", "f")]
    crowd = mm.Comparisons.from_arrays(*map(list, zip(*rows, strict=True)), [900.0, 900.0, 900.0])
    site = Site(str(tmp_path / "v.db"), Settings(rate=0.0), model=MODEL, crowd=crowd)
    with TestClient(create_app(site)) as opened:
        one = opened.get("/api/v1/crowd/choices", params={"person": "u"}).json()
        assert [choice["times"] for choice in one["choices"]] == [900, 900, 200]
        assert opened.post("/api/v1/weights", json=one).status_code == 200


def test_what_depends_on_the_model_alone_is_computed_once(client, monkeypatch):
    """The ranking matrix of 600 items was made for each component and pair, in each request."""
    site, calls = client.app.state.site, []
    beta = mm.M4.beta
    monkeypatch.setattr(mm.M4, "beta", lambda model: calls.append(1) or beta(model))
    answers = [client.get("/api/v1/model").json() for _ in range(3)]
    assert calls == []
    fresh = ServedModel(0, MODEL)
    fresh.warm()
    made = len(calls)
    assert made and answers == 3 * [fresh.summary.model_dump(mode="json")]
    site.fitted = fresh
    assert client.get("/api/v1/model").json() == answers[0] and len(calls) == made


def test_the_model_is_told_with_every_refit_so_far(client):
    site = client.app.state.site
    assert client.get("/api/v1/model").json()["growth"] == []
    fit = {"votes": 7, "people": 2, "components": 1, "seconds": 0.5, "last_vote": 7}
    more = {"created": 1.0, "data": None, "predicted": None, "predicted_of": 0}
    site.store.writer.submit(lambda line: line.execute(models.insert().values(fit | more))).result()
    (told,) = client.get("/api/v1/model").json()["growth"]
    assert told["votes"] == 7 and told["predicted"] is None
    assert site.fitted.summary.growth == []  # the part that all answers share stays as it is


def many_people(n=700):
    """Comparisons of people, some of whom have none; with ranking ids."""
    user = np.repeat(np.arange(n), 3)[: 3 * n - 6]
    winner = np.random.default_rng(0).integers(0, 6, len(user))
    codes = user, winner, (winner + 1 + user % 5) % 6
    labels = list("abcdef"), [f"person {m}" for m in range(n)]  # not in the order of their text
    return mm.Comparisons.from_codes(*codes, None, *labels, ranking_id=user % 2)


def test_known_people_are_those_of_the_comparisons():
    crowd = many_people()
    known = KnownPeople(crowd)
    for first, last in ((0, 300), (300, 600), (600, 900), (700, 1000), (10**9, 10**9 + 300)):
        numbers = range(min(first, 700), min(last, 700))
        assert known.between(first, last) == crowd.take_users(numbers)
    for name in ("person 0", "person 77", "person 699"):
        one = crowd.of(name)
        rows = one.items[one.winner], one.items[one.loser], one.weight
        assert known.choices(name) == list(zip(*map(list, rows), strict=True))
    assert known.choices("person 700") is None and known.choices("") is None


def test_looking_somebody_up_reads_nobody_else_and_not_on_the_event_loop(tmp_path, monkeypatch):
    """With a million people, a look at everybody's name held up every other request."""
    site = Site(str(tmp_path / "v.db"), Settings(rate=0.0), model=MODEL, crowd=many_people())
    read, threads, choices = [], set(), KnownPeople.choices

    def watched(people, person):
        threads.add(threading.current_thread().name.rpartition("-")[0])
        return choices(people, person)

    for module in (known_people, model_api, comparisons):
        monkeypatch.setattr(
            module, "text_of", lambda labels: read.append(len(labels)) or text_of(labels)
        )
    monkeypatch.setattr(KnownPeople, "choices", watched)
    with TestClient(create_app(site)) as opened:
        for name, status in (("person 77", 200), ("nobody", 404)):
            found = opened.get("/api/v1/crowd/choices", params={"person": name})
            assert found.status_code == status
        assert opened.get("/api/v1/crowd", params={"at": 600}).json()["people"][0] == "person 600"
    assert threads == {"reader"} and max(read) <= 100


# ---- the pool ----


def test_a_full_queue_is_said_at_once_and_what_waited_too_long_never_begins():
    held, begun = threading.Event(), []

    async def go():
        pool = WorkPool("test", threads=1, waiting=2, seconds=PATIENCE)
        first_begun = threading.Event()
        first = asyncio.create_task(pool.run(lambda: (first_begun.set(), held.wait(PATIENCE))))
        while not first_begun.is_set():
            await asyncio.sleep(0.01)
        with pytest.raises(Busy):
            await pool.run(begun.append, "late", seconds=0.01)
        waiting = [asyncio.create_task(pool.run(begun.append, 1))]
        await asyncio.sleep(0)  # two in the queue: one that is given up, one that waits
        with pytest.raises(Busy):
            await pool.run(begun.append, 2)
        held.set()
        await asyncio.gather(first, *waiting)
        with pytest.raises(ZeroDivisionError):
            await pool.run(lambda: 1 / 0)
        assert await pool.run(max, 3, 4) == 4
        pool.stop()

    asyncio.run(go())
    assert begun == [1]


def test_when_results_are_busy_the_rest_of_the_server_is_not(client):
    site, held = client.app.state.site, threading.Event()
    token = client.post("/api/v1/people", json={"token": True}).json()["token"]
    me = {"Authorization": f"Bearer {token}"}
    begun = []

    def hold():
        begun.append(1)
        held.wait(PATIENCE)

    for _ in range(2):
        client.portal.start_task_soon(site.heavy.run, hold)
    until(lambda: len(begun) == 2)  # both threads are taken
    for _ in range(16):
        client.portal.start_task_soon(site.heavy.run, hold)
    until(lambda: site.heavy._calls.qsize() == 16)
    try:
        for said in (
            client.post("/api/v1/weights", json={"choices": []}),
            client.get("/api/v1/me/result", headers=me),
        ):
            assert said.status_code == 503 and int(said.headers["retry-after"]) >= 1
        assert client.get("/api/v1/me", headers=me).status_code == 200
        question = client.get("/api/v1/next-pair", headers=me).json()
        vote = {"key": "a-vote-here", "choice": "first"} | {
            side: question[side]["id"] for side in ("first", "second")
        }
        assert client.post("/api/v1/votes", headers=me, json=vote).status_code == 200
    finally:
        held.set()
    until(lambda: site.heavy._calls.qsize() == 0)
    assert client.post("/api/v1/weights", json={"choices": []}).status_code == 200


# ---- the end ----


@pytest.mark.slow
def test_sigterm_ends_the_server_whatever_it_computes(tmp_path):
    """Five requests that compute for ten minutes, and a database that somebody else has locked."""
    slow = (
        "from mallowmix.web import model_api\n"
        "model_api.mixture = lambda *_: (print('computing', flush=True), time.sleep(600))"
    )
    with ScriptedServer(tmp_path, "deadline=600.0", slow) as running:
        lines = [running.connect() for _ in range(5)]
        for line in lines:
            line.sendall(
                b"POST /api/v1/weights HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
            )
        until(lambda: running.said().count("computing") == 2)
        assert running.ask(HEALTH)[0] == 200
        seconds = running.signal()
        assert seconds < 60 and "Traceback" not in running.said()
    assert server._LAST_SECONDS < 5  # the process itself is told to end by then


@pytest.mark.slow
def test_ctrl_c_with_an_open_stream_ends_without_a_traceback(tmp_path):
    with ScriptedServer(tmp_path) as running, running.connect() as line:
        line.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b"200" in line.recv(65536)
        running.signal(signal.SIGINT)
        # ended by itself, not by the last resort, which prints no word
        assert running.said() == "open\nended\n"
        assert running.process.returncode == 0


# ---- event streams ----


@pytest.mark.slow
def test_one_address_cannot_hold_all_event_streams(tmp_path):
    """Two streams for an address and three in all; one that is closed makes room again."""
    assert 4 * events.MOST_OF_ONE <= events.MOST_LISTENERS  # as it comes
    fewer = "from mallowmix.web import events\nevents.MOST_OF_ONE, events.MOST_LISTENERS = 2, 3"
    kept = []

    def listen(source):
        kept.append(running.connect(source))
        kept[-1].sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        text = kept[-1].recv(65536).decode()
        if " 200 " not in text.splitlines()[0]:
            kept.pop().close()
            wait = int(text.lower().split("retry-after: ")[1].split()[0])
            assert wait >= 1
        return int(text.split()[1])

    with ScriptedServer(tmp_path, "rate=0.0", fewer) as running:
        assert [listen("127.0.0.1") for _ in range(3)] == [200, 200, 429]
        assert [listen("127.0.0.2"), listen("127.0.0.3")] == [200, 503]
        kept.pop(0).close()
        until(lambda: listen("127.0.0.1") == 200)
        assert listen("127.0.0.1") == 429
        for line in kept:
            line.close()
        assert "Traceback" not in running.said()


# ---- slow clients ----


@pytest.mark.slow
def test_half_sent_requests_are_closed_and_keep_nobody_out(tmp_path):
    """200 connections that send half a head: a few stay open until their deadline, and whoever
    comes from the same address is served all the while.
    """
    options = "connections=20, header_seconds=3.0, body_seconds=2.0"
    with ScriptedServer(tmp_path, options) as running:
        half = []
        for _ in range(200):
            line = running.connect()
            line.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
            half.append(line)
            if len(half) % 50 == 0:
                assert running.ask(HEALTH)[0] == 200
        assert running.ask(HEALTH)[0] == 200
        found = [answer(line)[0] for line in half]  # each ends: nothing waits for ever
        assert set(found) <= {0, 408} and 1 <= found.count(408) <= 20
        with running.connect() as line:  # a body that never comes
            line.sendall(
                b"POST /api/v1/weights HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
            )
            assert answer(line)[0] == 408
        with running.connect() as line:  # a request after another on one connection
            whole = b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
            line.sendall(whole)
            assert b"200 OK" in line.recv(65536)
            line.sendall(whole[:30])
            assert answer(line)[0] == 408
        assert "Traceback" not in running.said()


class FakeConnection:
    """Waits for its client, or not; notes what became of it."""

    def __init__(self, is_waiting):
        self.is_waiting, self.fate = is_waiting, "open"

    def drop(self):
        self.fate = "dropped"

    def refuse(self):
        self.fate = "refused"


def test_new_connections_take_the_room_of_idle_ones_of_the_same_address():
    limits = ConnectionLimits(each=2, total=5)
    busy, idle, new = FakeConnection(False), FakeConnection(True), FakeConnection(True)
    for connection in (busy, idle, new):
        limits.add(connection, "a")
    assert [busy.fate, idle.fate, new.fate] == ["open", "dropped", "open"]
    limits.remove(idle, "a")
    new.is_waiting = False
    late = FakeConnection(True)
    limits.add(late, "a")
    assert late.fate == "refused" and [busy.fate, new.fate] == ["open", "open"]
    limits.remove(late, "a")
    proxied = [FakeConnection(True) for _ in range(3)]
    for connection in proxied:
        limits.add(connection, "proxy", limited=False)
    other = FakeConnection(True)
    limits.add(other, "b")  # six in all: the address that has most gives way
    assert [each.fate for each in proxied] == ["dropped", "open", "open"] and other.fate == "open"
    for each in proxied:
        each.is_waiting = False
    unlucky = FakeConnection(True)
    limits.add(unlucky, "c")
    assert unlucky.fate == "refused"
    for each, address in [(busy, "a"), (new, "a"), (other, "b"), *((p, "proxy") for p in proxied)]:
        limits.remove(each, address)
        limits.remove(each, address)  # once is enough
    assert limits.count == 0


def test_addresses_are_counted_by_what_one_client_has():
    assert counted_address("2001:db8:1:2:aaaa::1") == counted_address("2001:db8:1:2:bbbb::2")
    assert counted_address("2001:db8:1:3::1") != counted_address("2001:db8:1:2::1")
    assert counted_address("::ffff:192.0.2.1") == "192.0.2.1"
    assert counted_address("::1") == "::1" and counted_address(None) == "?"


@pytest.mark.slow
def test_a_head_request_has_the_headers_alone(tmp_path):
    with ScriptedServer(tmp_path) as running:
        status, text = running.ask("HEAD / HTTP/1.1")
        assert status == 200 and text.endswith("\r\n\r\n") and "content-length: " in text.lower()
        assert running.ask("HEAD /nowhere HTTP/1.1")[0] == 404
        status, text = running.ask("HEAD /api/v1/events HTTP/1.1")  # the stream has no end
        assert status == 200 and text.endswith("\r\n\r\n")
        status, text = running.ask("GET /api/v1/health HTTP/1.1")
        assert json.loads(text.split("\r\n\r\n")[1])["status"] == "ok"
