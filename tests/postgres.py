"""A real PostgreSQL server of the tests' own: a temporary folder, loopback, a free port, gone when
the session ends.

`postgres_url` is a fixture for one test: the URL of an empty database. Without an installed server
such tests skip and say why.
"""

import getpass
import itertools
import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
)
# nothing here must survive
_SETTINGS = ("fsync=off", "full_page_writes=off", "shared_buffers=16MB", "max_connections=20")
_names = itertools.count()


def programs() -> Path | None:
    """The folder of initdb and pg_ctl, of the newest version there is."""
    found = shutil.which("initdb")
    if found and shutil.which("pg_ctl"):
        return Path(found).parent
    folders = [folder for place in _PLACES for folder in Path("/").glob(place.lstrip("/"))]
    whole = [
        folder
        for folder in folders
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists()
    ]
    return max(whole, key=lambda folder: [*map(int, re.findall(r"\d+", str(folder)))], default=None)


def unprivileged() -> str | None:
    """Whom to run the server as: None is ourselves; root may not, and becomes another user."""
    if os.geteuid() != 0:
        return None
    import pwd

    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)


def _as(user: str | None, command: list[str]) -> None:
    """Run a command as that user; its own words come out when it fails."""
    import pwd

    identity: dict = (
        {"user": user, "group": pwd.getpwnam(user).pw_gid, "extra_groups": []} if user else {}
    )
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "HOME": "/"}
    done = subprocess.run(
        command, cwd="/", env=environment, capture_output=True, text=True, timeout=1200, **identity
    )
    if done.returncode:
        raise RuntimeError(
            f"{Path(command[0]).name} ended with {done.returncode}: {done.stdout}{done.stderr}"
        )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _start(bin_folder: Path, user: str | None, home: Path) -> tuple[str, int]:
    """A new cluster in `home` and its server; gives the name of its owner and its port."""
    owner, port, data = user or getpass.getuser(), _free_port(), str(home / "data")
    _as(
        user,
        [
            str(bin_folder / "initdb"),
            "-D",
            data,
            "-U",
            owner,
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--no-sync",
            "--no-locale",
        ],
    )
    options = [
        f"-p {port}",
        "-h 127.0.0.1",
        f"-k {home}",
        *(f"-c {setting}" for setting in _SETTINGS),
    ]
    _as(
        user,
        [
            str(bin_folder / "pg_ctl"),
            "-D",
            data,
            "-w",
            "-t",
            "60",
            "-l",
            str(home / "log"),
            "-o",
            " ".join(options),
            "start",
        ],
    )
    return owner, port


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a running server, without a database's name at its end."""
    bin_folder = programs()
    if bin_folder is None:
        pytest.skip("PostgreSQL is not installed (initdb and pg_ctl were not found)")
    user = unprivileged()
    if user is None and os.geteuid() == 0:
        pytest.skip(
            "PostgreSQL does not run as root, and there is no user postgres or nobody to run it as"
        )
    home = Path(tempfile.mkdtemp(prefix="mallowmix-postgres-"))
    try:
        if user:
            shutil.chown(home, user)
        owner, port = _start(bin_folder, user, home)
        yield f"postgresql://{owner}@127.0.0.1:{port}"
        _as(user, [str(bin_folder / "pg_ctl"), "-D", str(home / "data"), "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The URL of an empty database, as in postgresql://owner@127.0.0.1:5433/test3; dropped after
    the test.
    """
    psycopg = pytest.importorskip("psycopg")
    name = f"test{next(_names)}"
    with psycopg.connect(f"{postgres_server}/postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    yield f"{postgres_server}/{name}"
    with psycopg.connect(f"{postgres_server}/postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
