"""The survey under load.

Votes a second, how long they take, what a kill -9 does, and whether a refit is felt.

python -m benchmarks.web_load [--seconds 60] [--clients 64]    writes
    benchmarks/results/web_load.json

A real server in a process of its own, with SQLite and then with PostgreSQL (where it is installed);
200 items, K = 10. In a run:

    no-op       all clients ask for /api/v1/health, which answers from memory: what this machine and
                this server can do at all
    votes       all clients vote as fast as they are answered; beside them four visitors go through
                the survey as one does
    refit       the same while the server learns a new model from all votes
    kills       the server is killed (SIGKILL) ten times and started again; clients repeat what was
                not answered
    stopped     PostgreSQL alone: the database is stopped and started again

At the end every acknowledged vote must be in the database, once.
"""

import argparse
import asyncio
import itertools
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import RESULTS, about, save
from benchmarks.web_clients import (
    ADMIN,
    Acknowledged,
    Client,
    Server,
    Voter,
    health,
    in_database,
    refit_and_wait,
)
from benchmarks.web_postgres import Postgres, installed
from mallowmix.model.m4 import M4
from mallowmix.model.model_file import save as save_model


@dataclass(frozen=True)
class Setting:
    """How much of what."""

    seconds: float = 60.0
    clients: int = 64
    visitors: int = 4
    n_items: int = 200
    n_components: int = 10
    kills: int = 10
    postgres: bool = True
    seed: int = 0


def planted(setting: Setting) -> M4:
    """A model with random reference rankings."""
    random = np.random.default_rng(setting.seed)
    sigma = random.permuted(np.tile(np.arange(setting.n_items), (setting.n_components, 1)), axis=1)
    K = setting.n_components
    return M4(
        sigma, np.full(K, 0.5), np.full(K, 0.1), [f"item {i:03d}" for i in range(setting.n_items)]
    )


def milliseconds(times: list[float]) -> dict[str, float]:
    """How many, and the median, the 99th of 100 and the largest."""
    if not times:
        return {"n": 0}
    p50, p99 = np.quantile(np.array(times) * 1000, [0.5, 0.99])
    return {
        "n": len(times),
        "p50_ms": round(float(p50), 2),
        "p99_ms": round(float(p99), 2),
        "max_ms": round(1000 * max(times), 2),
    }


async def no_op(port: int, clients: int, seconds: float) -> list[float]:
    """All clients ask for nothing."""
    end, times = time.perf_counter() + seconds, []

    async def one() -> None:
        client = Client(port)
        while time.perf_counter() < end:
            start = time.perf_counter()
            await client.request("GET", "/api/v1/health")
            times.append(time.perf_counter() - start)
        client.close()

    await asyncio.gather(*(one() for _ in range(clients)))
    return times


async def voting(
    voters: list[Voter], visitors: list[Voter], seconds: float, at_least: int = 0
) -> dict[str, Any]:
    """All clients vote; visitors take the questions that they are asked.

    For so many seconds, and as many more as it takes the voters to vote `at_least` times.
    """
    for voter in [*voters, *visitors]:
        voter.times.clear()
        voter.questions.clear()
        voter.processor.clear()
    start = time.perf_counter()
    while True:
        end = time.perf_counter() + seconds
        await asyncio.gather(
            *(voter.vote_until(end) for voter in voters),
            *(visitor.answer_until(end) for visitor in visitors),
        )
        if sum(len(voter.times) for voter in voters) >= at_least:
            break
    passed = time.perf_counter() - start
    times = [seconds for voter in voters for seconds in voter.times]
    questions = [seconds for visitor in visitors for seconds in visitor.questions]
    processor = [seconds for visitor in visitors for seconds in visitor.processor]
    count = len(times) + sum(len(visitor.times) for visitor in visitors)
    return {
        "votes_per_second": round(count / passed, 1),
        "vote": milliseconds(times),
        "question": milliseconds(questions),
        "question_processor": milliseconds(
            processor
        ),  # the same without waiting for others on this machine
    }


async def killing(
    server: Server, voters: list[Voter], kills: int, between: float
) -> dict[str, Any]:
    """Kill the server again and again while all clients vote, each insisting until answered."""
    stop, restarts = asyncio.Event(), []
    tasks = [asyncio.create_task(voter.insist_until(stop)) for voter in voters]
    for _ in range(kills):
        await asyncio.sleep(between)
        server.kill()
        start = time.perf_counter()
        await asyncio.to_thread(server.start)
        restarts.append(time.perf_counter() - start)
    await asyncio.sleep(between)
    stop.set()
    await asyncio.gather(*tasks)
    return {
        "kills": kills,
        "seconds_to_start": round(float(np.median(restarts)), 2),
        "retries": sum(v.retries for v in voters),
    }


async def stopping(database: Postgres, voters: list[Voter], away: float) -> dict[str, Any]:
    """Stop PostgreSQL while all clients vote, and start it again."""
    stop = asyncio.Event()
    before = sum(voter.retries for voter in voters)
    tasks = [asyncio.create_task(voter.insist_until(stop)) for voter in voters]
    await asyncio.sleep(away)
    await asyncio.to_thread(database.stop)
    await asyncio.sleep(away)
    await asyncio.to_thread(database.start)
    await asyncio.sleep(2 * away)
    stop.set()
    await asyncio.gather(*tasks)
    return {"away_seconds": away, "retries": sum(voter.retries for voter in voters) - before}


async def one_database(
    setting: Setting, folder: Path, votes_at: str, database: Postgres | None
) -> dict[str, Any]:
    """All phases against one server; raises if a vote is lost or doubled."""
    save_model(planted(setting), folder / "model.m4")
    server = Server(
        [
            "model.m4",
            "--votes",
            votes_at,
            "--rate",
            "0",
            "--questions",
            "100000",
            "-k",
            str(setting.n_components),
        ],
        folder,
    )
    server.start()
    known, number = Acknowledged(), itertools.count()
    try:
        voters = [
            await Voter.begin(server.port, setting.n_items, known, next(number))
            for _ in range(setting.clients)
        ]
        visitors = [
            await Voter.begin(server.port, setting.n_items, known, next(number))
            for _ in range(setting.visitors)
        ]
        out: dict[str, Any] = {
            "no_op": milliseconds(await no_op(server.port, setting.clients, setting.seconds / 6))
        }
        out["votes"] = await voting(voters, visitors, setting.seconds)
        out["no_op_after"] = milliseconds(
            await no_op(server.port, setting.clients, setting.seconds / 6)
        )
        refit = asyncio.create_task(refit_and_wait(server.port, ADMIN))
        out["refit"] = await voting(voters, visitors, setting.seconds / 3)
        out["refit"]["seconds"] = round(await refit, 2)
        if database is not None:
            out["stopped"] = await stopping(database, voters, min(3.0, setting.seconds / 10))
        out["killed"] = await killing(server, voters, setting.kills, min(1.0, setting.seconds / 20))
        out["no_op_votes"] = (await health(server.port))["votes"]
    finally:
        server.kill()
    out["check"] = known.check(
        in_database(votes_at if "://" in votes_at else str(folder / votes_at))
    )
    return out


def measure(setting: Setting) -> dict[str, Any]:
    """SQLite, then PostgreSQL where there is one."""
    result: dict[str, Any] = {"about": about(), "setting": vars(setting)}
    with tempfile.TemporaryDirectory() as folder:
        result["sqlite"] = asyncio.run(one_database(setting, Path(folder), "votes.db", None))
    if installed() and setting.postgres:
        with tempfile.TemporaryDirectory() as folder, Postgres() as database:
            result["postgresql"] = asyncio.run(
                one_database(setting, Path(folder), database.url, database)
            )
    return result


def main() -> None:
    """Measure, and keep the numbers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=Setting.seconds)
    parser.add_argument("--clients", type=int, default=Setting.clients)
    options = parser.parse_args()
    save("web_load", measure(Setting(seconds=options.seconds, clients=options.clients)), RESULTS)


if __name__ == "__main__":
    main()
