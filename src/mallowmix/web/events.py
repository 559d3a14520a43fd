"""Server-sent events to all listeners: progress of a fit, a new model, the number of votes."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

MOST_LISTENERS = 200
MOST_OF_ONE = MOST_LISTENERS // 4  # of one address
_WAITING = 64  # messages that a slow listener may fall behind before the oldest are dropped
_HEARTBEAT = 15.0  # seconds


class Hub:
    """Passes messages from any thread to every listener."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: dict[asyncio.Queue[str | None], str] = {}  # with their addresses
        self.last: dict[str, Any] = {}
        self.ended = False

    def start(self) -> None:
        """Messages are delivered on the loop that runs now."""
        self._loop = asyncio.get_running_loop()

    def stop(self) -> None:
        """End every listener's stream."""
        self.ended = True
        for listener in self._listeners:
            _put(listener, None)

    def end_soon(self) -> None:
        """The same from anywhere, a signal handler included."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has closed
                self._loop.call_soon_threadsafe(self.stop)

    def publish(self, kind: str, data: dict[str, Any]) -> None:
        """Send a message to all listeners; may be called from any thread."""
        self.last[kind] = data
        message = message_of(kind, data)
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has closed: nobody listens
                self._loop.call_soon_threadsafe(self._deliver, message)

    def _deliver(self, message: str) -> None:
        for listener in self._listeners:
            _put(listener, message)

    @property
    def full(self) -> bool:
        """Whether there is no room for one more."""
        return len(self._listeners) >= MOST_LISTENERS

    def full_for(self, address: str) -> bool:
        """Whether an address has as many listeners as one may have."""
        return list(self._listeners.values()).count(address) >= MOST_OF_ONE

    async def listen(self, address: str) -> AsyncIterator[str]:
        """Yield the last message of each kind, then new ones; comments keep the line open."""
        listener: asyncio.Queue[str | None] = asyncio.Queue(_WAITING)
        self._listeners[listener] = address
        try:
            yield "retry: 3000\n\n"
            for kind, data in list(self.last.items()):
                yield message_of(kind, data)
            while not self.ended or not listener.empty():
                try:
                    message = await asyncio.wait_for(listener.get(), _HEARTBEAT)
                except TimeoutError:
                    message = ": still here\n\n"
                if message is None:
                    return
                yield message
        finally:
            del self._listeners[listener]


def message_of(kind: str, data: dict[str, Any]) -> str:
    """One event on the line."""
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"


def _put(listener: "asyncio.Queue[str | None]", message: str | None) -> None:
    if listener.full():
        listener.get_nowait()
    listener.put_nowait(message)
