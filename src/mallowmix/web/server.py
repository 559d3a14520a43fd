"""Run the application until it is stopped: uvicorn, one process, on a local address by default."""

import contextlib
import socket

import uvicorn

from mallowmix.errors import Option, OptionError
from mallowmix.web.application import create_app
from mallowmix.web.site import Site

_SHUTDOWN_SECONDS = 3  # seconds for requests that run when the server is stopped


def run(site: Site, host: str, port: int) -> None:
    """Serve until interrupted. Requests are not logged: links to results are secrets."""
    # Ctrl-C is how it ends
    with listening(host, port) as line, contextlib.suppress(KeyboardInterrupt):
        _server(site).run(sockets=[line])


def listening(host: str, port: int) -> socket.socket:
    """The address, taken; an error in words where somebody else has it."""
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=2048
        )
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise OptionError(
            Option("host", host),
            " ",
            Option("port", port),
            f" cannot be listened on: {reason}. Choose another with ",
            Option("port"),
            ".",
            option="port",
            value=port,
            expected="a port that is free",
        ) from None


def _server(site: Site) -> uvicorn.Server:
    settings = uvicorn.Config(
        create_app(site),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        limit_concurrency=1000,
        timeout_keep_alive=30,
    )
    return uvicorn.Server(settings)
