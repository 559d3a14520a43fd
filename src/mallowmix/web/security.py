"""Checks of every request (Host, size, rate), and the headers of every response.

Plain ASGI: a request that is refused here never reaches a route, and no body is read beyond its
limit.
"""

import json
import logging
import math
import re
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.requests import ClientDisconnect

from mallowmix.web.addresses import counted_address
from mallowmix.web.rate_limits import Rates
from mallowmix.web.sessions import COOKIE, SessionCache, digest
from mallowmix.web.settings import Settings

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
_HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
]
_ANONYMOUS = (
    5  # an address without a session may ask so many times as often: it may stand for many people
)


_log = logging.getLogger("mallowmix.web")


class TooLarge(Exception):
    """More bytes than allowed have come."""


class Guard:
    """The first to see a request and the last to see its answer."""

    def __init__(self, app: Any, settings: Settings, known: SessionCache) -> None:
        self.app, self.settings, self.known = app, settings, known
        self.rates = Rates(settings.rate, 10 * settings.rate)
        self.anonymous = Rates(_ANONYMOUS * settings.rate, 10 * _ANONYMOUS * settings.rate)
        self._proxy_seen = False

    async def __call__(
        self, scope: dict[str, Any], receive: Callable[..., Any], send: Callable[..., Any]
    ) -> None:
        """Refuse, or pass on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        self._note_proxy(headers)
        if scope["method"] == "HEAD":
            scope, send = scope | {"method": "GET"}, _without_body(send)
        send = _with_headers(send, no_store=not scope["path"].startswith("/static/"))
        refused = self._refused(scope, headers)
        if refused is not None:
            await refuse(send, *refused)
        else:
            await self._limited(scope, receive, send)

    def _refused(
        self, scope: dict[str, Any], headers: dict[bytes, bytes]
    ) -> tuple[int, str, float] | None:
        host = re.sub(r":\d*$", "", headers.get(b"host", b"").decode("latin-1").lower())
        if self.settings.hosts and host not in self.settings.hosts:
            return 421, "This server does not answer for that host name.", 0.0
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length[:19]) > self.settings.body:
            return 413, f"The request is too large: at most {self.settings.body:,} bytes.", 0.0
        wait = self._wait(scope, headers)
        return (429, "Too many requests: wait a moment.", wait) if wait > 0 else None

    def _wait(self, scope: dict[str, Any], headers: dict[bytes, bytes]) -> float:
        token = token_in(headers)
        name = None if token is None else digest(token)
        if name is not None and self.known.get(name) is not None:
            return self.rates.wait(name)
        return self.anonymous.wait(counted_address((scope.get("client") or ("?",))[0]))

    def _note_proxy(self, headers: dict[bytes, bytes]) -> None:
        """Say once that requests come through a proxy whose word about addresses is not taken."""
        if b"x-forwarded-for" in headers and not (
            self._proxy_seen or self.settings.trusted_proxies
        ):
            self._proxy_seen = True
            _log.warning(
                "A request came through a proxy (X-Forwarded-For) that is not trusted, so all its "
                "visitors count as one address: start the server with --trusted-proxy ADDRESS."
            )

    async def _limited(
        self, scope: dict[str, Any], receive: Callable[..., Any], send: Callable[..., Any]
    ) -> None:
        """Pass on while counting bytes; beyond the limit, refuse if no response has begun."""
        size, begun = 0, False

        async def counted() -> Any:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self.settings.body:
                raise TooLarge
            return message

        async def noted(message: Any) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, counted, noted)
        except ClientDisconnect:  # nobody is there to be answered
            return
        except TooLarge:
            if not begun:
                await refuse(
                    send,
                    413,
                    f"The request is too large: at most {self.settings.body:,} bytes.",
                    0.0,
                )


def bearer_in(headers: dict[bytes, bytes]) -> str | None:
    """The token of the header Authorization, where it has one."""
    scheme, _, bearer = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    return bearer if scheme.lower() == "bearer" and bearer else None


def token_in(headers: dict[bytes, bytes]) -> str | None:
    """The session token of a request: a bearer's, or the cookie's."""
    bearer = bearer_in(headers)
    if bearer is not None:
        return bearer
    try:
        cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        return None
    return cookies[COOKIE].value if COOKIE in cookies else None


async def refuse(send: Callable[..., Any], status: int, reason: str, wait: float) -> None:
    """A short answer in JSON."""
    headers = [(b"content-type", b"application/json")]
    if wait > 0:
        headers.append((b"retry-after", str(max(1, math.ceil(wait))).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"detail": reason}).encode()})


def _with_headers(send: Callable[..., Any], *, no_store: bool) -> Callable[..., Any]:
    extra = [*_HEADERS, (b"cache-control", b"no-store" if no_store else b"no-cache")]

    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            given = {name for name, _ in message.get("headers", [])}
            message = message | {
                "headers": [
                    *message.get("headers", []),
                    *(pair for pair in extra if pair[0] not in given),
                ]
            }
        await send(message)

    return sending


def _without_body(send: Callable[..., Any]) -> Callable[..., Any]:
    """For HEAD: the answer to GET, its headers alone."""
    ended = False

    async def sending(message: Any) -> None:
        nonlocal ended
        if message["type"] == "http.response.start":
            await send(message)
        elif not ended:
            ended = True
            await send({"type": "http.response.body", "body": b""})

    return sending
