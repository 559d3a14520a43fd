"""A PostgreSQL server that can be stopped and started in the middle of a run."""

import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from tests.postgres import programs, unprivileged


def installed() -> bool:
    """Whether there is one to run, and somebody to run it as."""
    import os

    return programs() is not None and not (os.geteuid() == 0 and unprivileged() is None)


class Postgres:
    """A cluster of its own in a temporary folder, with its usual care for the disk.

    Gone at the end.
    """

    def __enter__(self) -> "Postgres":
        self.bin, self.user = programs(), unprivileged()
        self.home = Path(tempfile.mkdtemp(prefix="mallowmix-load-"))
        if self.user:
            shutil.chown(self.home, self.user)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._run(
            "initdb",
            "-D",
            str(self.home / "data"),
            "-U",
            "owner",
            "-A",
            "trust",  # words: ok
            "-E",
            "UTF8",
            "--no-locale",
        )
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"postgresql://owner@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = f"-p {self.port} -h 127.0.0.1 -k {self.home} -c shared_buffers=32MB"
        self._run(
            "pg_ctl",
            "-D",
            str(self.home / "data"),
            "-w",
            "-l",
            str(self.home / "log"),
            "-o",
            options,
            "start",
        )

    def stop(self) -> None:
        """Stop it under its clients' feet."""
        self._run("pg_ctl", "-D", str(self.home / "data"), "-m", "fast", "-w", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        import pwd

        assert self.bin is not None
        identity = (
            {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []}
            if self.user
            else {}
        )
        done = subprocess.run(
            [self.bin / program, *arguments], cwd="/", capture_output=True, timeout=120, **identity
        )
        if done.returncode:
            raise RuntimeError(f"{program}: {done.stdout!r} {done.stderr!r}")
