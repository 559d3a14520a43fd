"""Real servers killed in the middle, databases stopped, refits while votes come in: no acknowledged
vote is lost, none doubled.

The small twin of benchmarks/web_load.py: its own clients, fewer of them, for seconds.
"""

import asyncio
import itertools

import pytest

from benchmarks import web_kills
from benchmarks.web_clients import (
    ADMIN,
    Acknowledged,
    Client,
    Server,
    Voter,
    in_database,
    refit_and_wait,
)
from benchmarks.web_load import Setting, killing, milliseconds, no_op, planted, stopping, voting
from benchmarks.web_postgres import Postgres, installed
from mallowmix.model.model_file import save

SMALL = Setting(clients=6, visitors=1, n_items=20, n_components=2)


async def people(server, n, known, numbers):
    return [await Voter.begin(server.port, SMALL.n_items, known, next(numbers)) for _ in range(n)]


def started(folder, place):
    save(planted(SMALL), folder / "model.m4")
    words = ["model.m4", "--votes", place, "--rate", "0", "--questions", "100000", "-k", "2"]
    server = Server(words, folder)
    server.start()
    return server


@pytest.mark.slow
def test_votes_survive_a_refit_and_two_kills(tmp_path):
    """While a refit runs votes are answered; its model is then in use. The server is killed twice
    while six people insist.
    """
    server, known = started(tmp_path, "votes.db"), Acknowledged()

    async def go():
        numbers = itertools.count()
        voters, visitors = (
            await people(server, 6, known, numbers),
            await people(server, 1, known, numbers),
        )
        nothing = milliseconds(await no_op(server.port, 6, 0.3))
        loaded = await voting(voters, visitors, 1.0, at_least=26)
        refit = asyncio.create_task(refit_and_wait(server.port, ADMIN))
        during = await voting(voters, visitors, 1.0, at_least=26)
        await refit
        kills = await killing(server, voters, 2, 0.3)
        return nothing, loaded, during, kills

    try:
        nothing, loaded, during, kills = asyncio.run(go())
    finally:
        server.kill()
    assert (
        nothing["n"] > 0
        and loaded["vote"]["n"] > 20
        and during["vote"]["n"] > 20
        and loaded["question"]["n"] > 0
    )
    assert kills["retries"] > 0
    found = known.check(in_database(str(tmp_path / "votes.db")))
    assert found["acknowledged"] > 50 and found["lost"] == found["doubled"] == found["changed"] == 0
    assert "Traceback" not in (tmp_path / "server.log").read_text()


@pytest.mark.slow
@pytest.mark.skipif(
    not installed(), reason="PostgreSQL is not installed, or there is nobody to run it as"
)
def test_votes_survive_a_kill_and_a_stopped_postgresql(tmp_path):
    with Postgres() as database:
        server, known = started(tmp_path, database.url), Acknowledged()

        async def go():
            voters = await people(server, 4, known, itertools.count())
            await voting(voters, [], 0.2, at_least=21)  # however slow the machine is
            stopped = await stopping(database, voters, 0.4)
            await killing(server, voters, 1, 0.3)
            client = Client(server.port)
            _, _, health = await client.request("GET", "/api/v1/health")
            client.close()
            return stopped, health

        try:
            stopped, health = asyncio.run(go())
        finally:
            server.kill()
        found = known.check(in_database(database.url))
    assert stopped["retries"] > 0 and health["status"] == "ok"
    assert found["acknowledged"] > 20 and found["lost"] == found["doubled"] == 0
    assert "Traceback" not in (tmp_path / "server.log").read_text()


def test_the_check_notices_a_lost_a_doubled_and_a_changed_vote():
    known = Acknowledged({("p1", "k1"): (1, 2, 1)})
    assert known.check([("p1", "k1", 1, 2, 1)])["lost"] == 0
    for found in ([], [("p1", "k1", 1, 2, 1)] * 2, [("p1", "k1", 1, 2, -1)]):
        with pytest.raises(AssertionError, match="not as acknowledged"):
            known.check(found)


@pytest.mark.slow
def test_a_server_that_is_killed_while_it_starts_loses_nothing(tmp_path):
    """The small twin of benchmarks/web_kills.py; some kills come before the server answers."""
    found = asyncio.run(web_kills.one_database(SMALL, 4, tmp_path, "votes.db"))
    assert found["killed"]["kills"] >= 4 and found["killed"]["while_it_started"] >= 1
    assert found["killed"]["retries"] > 0
    assert found["check"]["acknowledged"] > 0
    assert found["check"]["lost"] == found["check"]["doubled"] == found["check"]["changed"] == 0
    assert "Traceback" not in (tmp_path / "server.log").read_text()
