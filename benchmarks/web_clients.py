"""Clients of the survey for load and crash tests.

A server in its own process, plain HTTP, and voters who keep count.
"""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from mallowmix.web.schema import votes
from mallowmix.web.vote_store import Archive

ADMIN = "a-token-for-the-benchmark"
_PATIENCE = 90.0  # seconds for a server to answer


class Server:
    """`mallowmix serve` with these arguments, in a process of its own."""

    def __init__(self, arguments: list[str], folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.arguments, self.folder, self.process = arguments, folder, None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def begin(self) -> None:
        """Start it, and do not wait."""
        command = [
            sys.executable,
            "-m",
            "mallowmix",
            "serve",
            *self.arguments,
            "--port",
            str(self.port),
        ]
        environment = os.environ | {"MALLOWMIX_ADMIN_TOKEN": ADMIN}
        log = (self.folder / "server.log").open("ab")
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=log, stderr=log
        )

    def start(self) -> None:
        """Start it and wait for its first answer."""
        self.begin()
        assert self.process is not None
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self.port), 0.2),
            ):
                return
            if self.process.poll() is not None:
                raise RuntimeError((self.folder / "server.log").read_text(errors="replace")[-2000:])
            time.sleep(0.02)
        raise RuntimeError("The server did not start.")

    def kill(self) -> None:
        """Kill it at once, as a power cut would."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None


class Client:
    """HTTP/1.1 on one connection that is kept."""

    def __init__(self, port: int) -> None:
        self.port, self._line = port, None

    def close(self) -> None:
        """Let go of the connection."""
        if self._line is not None:
            self._line[1].close()
            self._line = None

    async def request(
        self, method: str, path: str, body: Any = None, token: str = "", form: str = ""
    ) -> tuple[int, dict[str, str], Any]:
        """Status, headers, JSON; an OSError where the server is gone."""
        try:
            return await self._request(method, path, body, token, form)
        except (OSError, asyncio.IncompleteReadError, ValueError, IndexError) as error:
            self.close()
            raise OSError("no answer") from error

    async def _request(
        self, method: str, path: str, body: Any, token: str, form: str
    ) -> tuple[int, dict[str, str], Any]:
        if self._line is None:
            self._line = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._line
        data = form.encode() if form else b"" if body is None else json.dumps(body).encode()
        kind = "application/x-www-form-urlencoded" if form else "application/json"
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Length: {len(data)}\r\nContent-Type: {kind}\r\n"
        )
        head += f"Authorization: Bearer {token}\r\n\r\n" if token else "\r\n"
        writer.write(head.encode() + data)
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value
            for name, _, value in (line.partition(": ") for line in lines if line)
        }
        answer = await reader.readexactly(int(headers.get("content-length", "0")))
        return (
            int(first.split()[1]),
            headers,
            json.loads(answer) if "json" in headers.get("content-type", "") else None,
        )


@dataclass
class Acknowledged:
    """The votes that the server said were stored: (person, key) → (low, high, choice)."""

    votes: dict[tuple[str, str], tuple[int, int, int]] = field(default_factory=dict)

    def check(self, found: list[tuple[str, str, int, int, int]]) -> dict[str, int]:
        """Count acknowledged votes that are missing or doubled in the database, and raise if there
        are any.
        """
        there = Counter((person, key) for person, key, *_ in found)
        content = {(person, key): tuple(rest) for person, key, *rest in found}
        lost = [name for name in self.votes if there[name] == 0]
        wrong = [
            name for name, vote in self.votes.items() if name in content and content[name] != vote
        ]
        doubled = [name for name, count in there.items() if count > 1]
        out = {"acknowledged": len(self.votes), "in_database": len(found)}
        out |= {"lost": len(lost), "doubled": len(doubled), "changed": len(wrong)}
        if lost or doubled or wrong:
            raise AssertionError(f"Votes are not as acknowledged: {out}")
        return out


@dataclass
class Voter:
    """Someone who votes, and remembers what was acknowledged and how long it took."""

    client: Client
    person: str
    token: str
    pairs: Any
    known: Acknowledged
    number: int
    times: list[float] = field(default_factory=list)
    questions: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    retries: int = 0

    @classmethod
    async def begin(cls, port: int, n_items: int, known: Acknowledged, number: int) -> "Voter":
        """A new participant; each goes through the pairs in an order of their own."""
        client = Client(port)
        status, _, me = await client.request("POST", "/api/v1/people", {"token": True})
        assert status == 201, me
        pairs = [
            (i, j)
            for gap in range(1, n_items)
            for i in range(1, n_items + 1)
            if (j := i + gap) <= n_items
        ]
        start = (number * 977) % len(pairs)
        return cls(
            client,
            me["person"],
            me["token"],
            itertools.chain(pairs[start:], pairs[:start]),
            known,
            number,
        )

    def next_vote(self) -> dict[str, Any]:
        """The next pair, with a choice and a key of our own."""
        first, second = next(self.pairs)
        choice = ("first", "second", "first", "skip")[(first * 7 + second * 3 + self.number) % 4]
        return {
            "key": f"key-{self.number:04d}-{first:04d}-{second:04d}",
            "first": first,
            "second": second,
            "choice": choice,
        }

    async def send(self, vote: dict[str, Any]) -> int:
        """Send a vote once; note it where it is acknowledged."""
        status, _, _ = await self.client.request("POST", "/api/v1/votes", vote, self.token)
        if status == 200:
            low, high = sorted((vote["first"], vote["second"]))
            sign = {"first": 1, "second": -1, "skip": 0}[vote["choice"]] * (
                1 if vote["first"] == low else -1
            )
            self.known.votes[self.person, vote["key"]] = (low, high, sign)
        return status

    async def vote_until(self, end: float) -> None:
        """Vote as fast as one is answered."""
        while time.perf_counter() < end:
            start = time.perf_counter()
            status = await self.send(self.next_vote())
            assert status == 200, status
            self.times.append(time.perf_counter() - start)

    async def answer_until(self, end: float) -> None:
        """Go through the survey as a visitor does.

        The server says how long each question took to choose.
        """
        while time.perf_counter() < end:
            status, headers, asked = await self.client.request(
                "GET", "/api/v1/next-pair?more=true", token=self.token
            )
            assert status == 200 and asked["first"] is not None, asked
            clock, processor = (
                float(part.rpartition("=")[2]) / 1000
                for part in headers["server-timing"].split(",")
            )
            self.questions.append(clock)
            self.processor.append(processor)
            first, second = asked["first"]["id"], asked["second"]["id"]
            vote = {
                "key": f"asked-{self.number}-{first}-{second}",
                "first": first,
                "second": second,
                "choice": "first",
            }
            start = time.perf_counter()
            assert await self.send(vote) == 200
            self.times.append(time.perf_counter() - start)
            await asyncio.sleep(0.05)

    async def insist_until(self, stop: asyncio.Event) -> None:
        """Vote, repeating the same vote with the same key until it is acknowledged, whatever
        happens to the server.
        """
        while not stop.is_set():
            vote, done = self.next_vote(), False
            while not done:
                try:
                    status = await self.send(vote)
                    assert status in (200, 503), status
                    done = status == 200
                except OSError:
                    done = False
                if not done:
                    self.retries += 1
                    await asyncio.sleep(0.2)


def in_database(database: str) -> list[tuple[str, str, int, int, int]]:
    """person, key, low, high, choice of every vote that is stored."""
    archive = Archive(database)
    with archive.reading.connect() as connection:
        rows = connection.execute(
            sa.select(votes.c.person, votes.c.key, votes.c.low, votes.c.high, votes.c.choice)
        ).fetchall()
    archive.close()
    return [(f"p{person:06d}", key, low, high, choice) for person, key, low, high, choice in rows]


async def health(port: int) -> dict[str, Any]:
    """What the server says of itself."""
    client = Client(port)
    _, _, said = await client.request("GET", "/api/v1/health")
    client.close()
    return said


async def refit_and_wait(port: int, token: str) -> float:
    """Ask for a refit as an admin does; the seconds until its model is in use."""
    start, before = time.perf_counter(), (await health(port))["model"]
    client = Client(port)
    await client.request("POST", "/admin/refit", token=token, form="csrf=")
    client.close()
    while (await health(port))["model"] == before:
        await asyncio.sleep(0.2)
        if time.perf_counter() - start > 600:
            raise RuntimeError("The refit did not end.")
    return time.perf_counter() - start
