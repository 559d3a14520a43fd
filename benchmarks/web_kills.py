"""The survey's server killed again and again while people vote.

python -m benchmarks.web_kills [--kills 100] [--clients 16]    writes
    benchmarks/results/web_kills.json

A real server in a process of its own, with SQLite and then with PostgreSQL (where it is installed),
is killed (SIGKILL) at random moments, some of them while it starts, and started again. All clients
vote meanwhile and repeat what was not answered. At the end every acknowledged vote must be in the
database, once and unchanged: otherwise the run ends in an error.
"""

import argparse
import asyncio
import itertools
import random
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.record import RESULTS, about, save
from benchmarks.web_clients import Acknowledged, Server, Voter, in_database
from benchmarks.web_load import Setting, planted
from benchmarks.web_postgres import Postgres, installed
from mallowmix.model.model_file import save as save_model

LONGEST = 1.5  # seconds from an answer of the server to its end
EVERY = 5  # after one of so many kills another one comes while the server starts


async def killed(server: Server, voters: list[Voter], kills: int, seed: int) -> dict[str, int]:
    """Kill the server at random moments while all clients vote, each insisting until answered."""
    stop, chance, early = asyncio.Event(), random.Random(seed), 0
    tasks = [asyncio.create_task(voter.insist_until(stop)) for voter in voters]
    for number in range(kills):
        await asyncio.sleep(chance.uniform(0.0, LONGEST))
        server.kill()
        if number % EVERY == 1:
            server.begin()
            await asyncio.sleep(chance.uniform(0.0, LONGEST))
            server.kill()
            early += 1
        await asyncio.to_thread(server.start)
    await asyncio.sleep(LONGEST)
    stop.set()
    await asyncio.gather(*tasks)
    return {
        "kills": kills + early,
        "while_it_started": early,
        "retries": sum(voter.retries for voter in voters),
    }


async def one_database(
    setting: Setting, kills: int, folder: Path, votes_at: str
) -> dict[str, dict[str, int]]:
    """The kills of one server, and what its database holds in the end."""
    save_model(planted(setting), folder / "model.m4")
    words = ["model.m4", "--votes", votes_at, "--rate", "0", "--questions", "100000"]
    server, known, number = Server(words, folder), Acknowledged(), itertools.count()
    server.start()
    try:
        voters = [
            await Voter.begin(server.port, setting.n_items, known, next(number))
            for _ in range(setting.clients)
        ]
        found = await killed(server, voters, kills, setting.seed)
    finally:
        server.kill()
    place = votes_at if "://" in votes_at else str(folder / votes_at)
    return {"killed": found, "check": known.check(in_database(place))}


def measure(setting: Setting, kills: int) -> dict[str, Any]:
    """SQLite, then PostgreSQL where there is one."""
    result: dict[str, Any] = {"about": about(), "clients": setting.clients}
    with tempfile.TemporaryDirectory() as folder:
        result["sqlite"] = asyncio.run(one_database(setting, kills, Path(folder), "votes.db"))
    if installed() and setting.postgres:
        with tempfile.TemporaryDirectory() as folder, Postgres() as database:
            result["postgresql"] = asyncio.run(
                one_database(setting, kills, Path(folder), database.url)
            )
    return result


def main() -> None:
    """Kill, check, and keep the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    setting = Setting(clients=given.clients, n_items=60, n_components=3, seed=given.seed)
    save("web_kills", measure(setting, given.kills), RESULTS, [given.seed])


if __name__ == "__main__":
    main()
