"""Server-sent events to all listeners: progress of a fit, a new model, the number of votes."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any, TypeAlias

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

MOST_LISTENERS = 200
MOST_OF_ONE = MOST_LISTENERS // 4  # of one address
_WAITING = 64  # messages that a slow listener may fall behind before the oldest are dropped
_HEARTBEAT = 15.0  # seconds

Listener: TypeAlias = asyncio.Queue[str | None]  # of messages; None ends it


class TooMany(Exception):
    """There are as many listeners as may be, of one address or of all."""

    def __init__(self, *, of_one: bool) -> None:
        super().__init__()
        self.of_one = of_one


class Hub:
    """Passes messages from any thread to every listener."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: dict[Listener, str] = {}  # with their addresses
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

    def join(self, address: str) -> Listener:
        """Count one more listener, before anything is sent to it; `TooMany` where none may be."""
        if list(self._listeners.values()).count(address) >= MOST_OF_ONE:
            raise TooMany(of_one=True)
        if len(self._listeners) >= MOST_LISTENERS:
            raise TooMany(of_one=False)
        listener: Listener = asyncio.Queue(_WAITING)
        self._listeners[listener] = address
        return listener

    def leave(self, listener: Listener) -> None:
        """Count one listener less; a second time does nothing."""
        self._listeners.pop(listener, None)

    async def messages(self, listener: Listener) -> AsyncIterator[str]:
        """Yield the last message of each kind, then new ones; comments keep the line open."""
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
            self.leave(listener)


class EventStream(StreamingResponse):
    """The messages of one listener, who leaves when the line is closed, begun or not."""

    def __init__(self, hub: Hub, listener: Listener) -> None:
        super().__init__(
            hub.messages(listener),
            media_type="text/event-stream",
            headers={"X-Accel-Buffering": "no"},
        )
        self._hub, self._listener = hub, listener

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the messages."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._hub.leave(self._listener)


def message_of(kind: str, data: dict[str, Any]) -> str:
    """One event on the line."""
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"


def _put(listener: Listener, message: str | None) -> None:
    if listener.full():
        listener.get_nowait()
    listener.put_nowait(message)
