"""A server in a process of its own, made by a short script: to stop it, starve it, lie to it."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 120.0  # seconds for anything that must happen at all; nothing is measured by it
SCRIPT = """
import sys, time
import mallowmix as mm
from mallowmix.web import server, site as site_module
from mallowmix.web.settings import Settings, allowed_hosts

model = mm.M4.from_orders([list("abcdef"), list("fedcba")], phi=0.3)
site = site_module.Site("votes.db", Settings({settings}), model=model)
{before}
server.run(site, "127.0.0.1", {port}, lambda: print("open", flush=True))
print("ended", flush=True)
"""


class ScriptedServer:
    """`mallowmix.web.server.run` with these settings (as Python text), in a folder."""

    def __init__(self, folder: Path, settings: str = "", before: str = "") -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.log, folder = folder / "server.log", Path(folder)
        script = SCRIPT.format(settings=settings, before=before, port=self.port)
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", script],
                cwd=folder,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
                stdout=log,
                stderr=log,
            )
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + PATIENCE
        while "open\n" not in self.said():
            assert self.process.poll() is None and time.monotonic() < end, self.said()
            time.sleep(0.05)

    def said(self) -> str:
        """Everything on stdout and stderr."""
        return self.log.read_text(errors="replace")

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        """A new connection, from any address of this machine."""
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE, (source, 0))

    def ask(self, head: str, body: bytes = b"") -> tuple[int, str]:
        """One request on a connection of its own: status, and the whole answer."""
        lines = [*head.split("\n"), "Host: 127.0.0.1", "Connection: close"]
        if body:
            lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
        with self.connect() as line:
            line.sendall("\r\n".join([*lines, "", ""]).encode() + body)
            return answer(line)

    def signal(self, number: int = signal.SIGTERM) -> float:
        """Send a signal and wait for the end; the seconds that it took."""
        start = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(PATIENCE)
        return time.monotonic() - start

    def __enter__(self) -> "ScriptedServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


def answer(line: socket.socket) -> tuple[int, str]:
    """What comes until the other side closes; status 0 where nothing does."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := line.recv(65536):
            found += part
    text = found.decode("latin-1")
    return (int(text.split()[1]) if text else 0), text
