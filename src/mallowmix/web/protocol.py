"""HTTP connections with deadlines: for the head of a request, its body, and reading the answer."""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from mallowmix.web.addresses import counted_address
from mallowmix.web.connection_limits import ConnectionLimits
from mallowmix.web.settings import Settings

_LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\n"
    b"Content-Length: 0\r\n\r\n"
)
IDLE, HEAD, BODY, ANSWER = "idle", "head", "body", "answer"


class TimedProtocol(H11Protocol):
    """uvicorn's connection, closed where its client is too slow or its address has too many."""

    def __init__(
        self, *arguments: Any, settings: Settings, limits: ConnectionLimits, **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.settings, self.limits = settings, limits
        self.address, self.stage = "?", IDLE
        self._timer: asyncio.TimerHandle | None = None
        self._reading_timer: asyncio.TimerHandle | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: Any) -> None:
        """A client has come."""
        super().connection_made(transport)
        host = self.client[0] if self.client else None
        self.address = counted_address(host)
        self._enter(HEAD)
        trusted = host is not None and self.settings.is_trusted(host)
        self.limits.add(self, self.address, limited=not trusted)

    def connection_lost(self, exc: Exception | None) -> None:
        """The client has gone."""
        self.limits.remove(self, self.address)
        self._enter(IDLE)
        self._stop_reading_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Some bytes have come."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._enter(self._stage_now())

    def on_response_complete(self) -> None:
        """A request has been answered; the next one may have come already."""
        super().on_response_complete()
        self._enter(self._stage_now())

    def pause_writing(self) -> None:
        """The client does not read what it asked for: not for ever."""
        super().pause_writing()
        self._stop_reading_timer()
        self._reading_timer = self.loop.call_later(self.settings.body_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """It reads again."""
        super().resume_writing()
        self._stop_reading_timer()

    def drop(self) -> None:
        """Close, to make room."""
        self.transport.abort()

    def refuse(self) -> None:
        """Say that there is no room."""
        self._close_with(_FULL)

    def _stage_now(self) -> str:
        state = self.conn.their_state
        if state is h11.SEND_BODY:
            return BODY
        if state is not h11.IDLE:
            return ANSWER
        begun = bool(self.conn.trailing_data[0]) or self.cycle is None
        return HEAD if begun else IDLE  # between requests uvicorn's own limit holds

    def _enter(self, stage: str) -> None:
        """Note the stage of the connection; its deadline counts from the beginning of the stage."""
        if stage == self.stage:
            return
        self.stage = stage
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        seconds = {HEAD: self.settings.header_seconds, BODY: self.settings.body_seconds}.get(stage)
        if seconds is not None:
            self._timer = self.loop.call_later(seconds, self._too_late)

    def _too_late(self) -> None:
        begun = self.cycle is not None and self.cycle.response_started
        self._close_with(b"" if self.stage == BODY and begun else _LATE)

    def _close_with(self, answer: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()

    def _stop_reading_timer(self) -> None:
        if self._reading_timer is not None:
            self._reading_timer.cancel()
            self._reading_timer = None
