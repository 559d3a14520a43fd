"""Run the application until it is stopped: uvicorn, one process, on a local address by default."""

import contextlib
import functools
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any

import uvicorn

from mallowmix.errors import Option, OptionError
from mallowmix.web.application import create_app
from mallowmix.web.connection_limits import ConnectionLimits
from mallowmix.web.protocol import TimedProtocol
from mallowmix.web.site import Site

_SHUTDOWN_SECONDS = 1  # for requests that run when the server is stopped
_LAST_SECONDS = 4.0  # after a signal, the process ends by then, whatever still runs
_CONNECTIONS = 1000  # open at once, in all
_OTHER_FILES = 128  # open files that are no connections
_HEAD_BYTES = 16_384  # the longest head of a request


def run(site: Site, host: str, port: int, opened: Callable[[], None] = lambda: None) -> None:
    """Serve until interrupted; `opened` is called when the address is taken.

    Requests are not logged: links to results are secrets.
    """
    try:
        line = listening(host, port)
    except OptionError:
        site.close()
        raise
    # Ctrl-C is how it ends
    with line, contextlib.suppress(KeyboardInterrupt):
        opened()
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


class PromptServer(uvicorn.Server):
    """Ends soon after a signal: streams are closed first, and nothing is waited for too long."""

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self.site = site

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Called for Ctrl-C and SIGTERM, in the main thread, between two steps of the loop."""
        if not self.should_exit:
            self.site.hub.end_soon()
            # what the shutdown cuts off is no error
            logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
            last = threading.Timer(_LAST_SECONDS, os._exit, [_exit_code(sig)])
            last.daemon = True
            last.start()
        super().handle_exit(sig, frame)


def _exit_code(sig: int) -> int:
    return 0 if sig == signal.SIGINT else 128 + sig


def _server(site: Site) -> PromptServer:
    limits = ConnectionLimits(site.settings.connections, _room())
    protocol: Any = functools.partial(TimedProtocol, settings=site.settings, limits=limits)
    settings = uvicorn.Config(
        create_app(site),
        http=protocol,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(site.settings.trusted_proxies),
        forwarded_allow_ips=list(site.settings.trusted_proxies),
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=_HEAD_BYTES,
    )
    return PromptServer(settings, site)


def _room() -> int:
    """How many connections may be open: a thousand, or fewer where files may not be so many."""
    try:
        import resource
    except ImportError:  # Windows
        return _CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return (
        _CONNECTIONS
        if soft == resource.RLIM_INFINITY
        else max(16, min(_CONNECTIONS, soft - _OTHER_FILES))
    )
