"""When to refit, and doing it: one refit at a time, in its own process; votes never wait for it."""

import base64
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from mallowmix.errors import MallowmixError
from mallowmix.model.model_file import loads
from mallowmix.web.events import Hub
from mallowmix.web.prepared_answers import ServedModel
from mallowmix.web.refit_process import RefitFailed, RefitProcess
from mallowmix.web.schema import models
from mallowmix.web.settings import Settings
from mallowmix.web.vote_store import Store

_LOOK = 0.5  # seconds between two looks at the number of votes
_FIRST_PAUSE, _LAST_PAUSE = 60.0, 3600.0  # seconds between a failed refit and the next try
_KEPT = 5  # model files kept in the database; of older refits the numbers alone


_log = logging.getLogger("mallowmix.web")


class Refitter:
    """Watches the votes in a thread and starts refits."""

    def __init__(
        self, store: Store, settings: Settings, hub: Hub, ready: Callable[[ServedModel], None]
    ) -> None:
        self.store, self.settings, self.hub, self.ready = store, settings, hub, ready
        self.new, self.failed, self.details, self.running = 0, "", "", False
        self._first_new, self._not_before, self._pause = time.monotonic(), 0.0, _FIRST_PAUSE
        self._requested, self._end = threading.Event(), threading.Event()
        self._process: RefitProcess | None = None
        self._thread = threading.Thread(target=self._watch, name="refit", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; a refit that runs is given up."""
        self._end.set()
        self._requested.set()
        if self._process is not None:
            self._process.end()
        if self._thread.ident is not None:
            self._thread.join(timeout=1)

    def counted(self, n: int) -> None:
        """So many more votes have been committed."""
        if n and not self.new:
            self._first_new = time.monotonic()
        self.new += n

    def request(self) -> None:
        """Learn again as soon as possible, whatever the number of new votes."""
        self._pause = _FIRST_PAUSE
        self._requested.set()

    def due(self) -> bool:
        """Whether there are enough new votes, or some have waited long enough."""
        if time.monotonic() < self._not_before:
            return False
        votes, minutes = self.settings.refit_votes, self.settings.refit_minutes
        if votes and self.new >= votes:
            return True
        return bool(minutes and self.new and time.monotonic() - self._first_new >= 60 * minutes)

    def _watch(self) -> None:
        while not self._end.is_set():
            requested = self._requested.wait(_LOOK)
            if not self._end.is_set() and (requested or self.due()):
                self._requested.clear()
                self._refit()

    def _refit(self) -> None:
        """Run one refit; a failure is published, and the model in use stays."""
        counted, self.running, self.failed, self.details = self.new, True, "", ""
        self.hub.publish("fit", {"state": "running", "step": "reading", "done": 0, "total": 1})
        try:
            outcome = self._run()
            self.ready(self._keep(outcome))
            self.new, self._pause = max(self.new - counted, 0), _FIRST_PAUSE
            self._first_new = self._not_before = time.monotonic()
            done = {"components": outcome["components"], "votes": outcome["votes"]}
            self.hub.publish("fit", {"state": "done", **done})
        except Exception as error:
            self._note_failure(error)
        finally:
            self.running = False

    def _note_failure(self, error: Exception) -> None:
        """What was not learnt stays counted; the next try comes later, and later each time."""
        known = isinstance(error, RefitFailed | MallowmixError)
        self.failed = str(error) if known else type(error).__name__
        self.details = error.details if isinstance(error, RefitFailed) else ""
        if not known:
            _log.error("A refit failed.", exc_info=error)
        self._not_before = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, _LAST_PAUSE)
        # visitors hear the reason; the last words of the process are for the admin
        self.hub.publish("fit", {"state": "failed", "reason": self.failed})

    def _run(self) -> dict[str, Any]:
        """The process's last line; its progress is passed on."""
        request = {
            "database": self.store.url.render_as_string(hide_password=False),
            "components": self.settings.n_components,
            "nice": self.settings.nice,
        }
        self._process = RefitProcess(request, 60 * self.settings.refit_limit)
        if self._end.is_set():
            self._process.end()
        return self._process.run(
            lambda message: self.hub.publish("fit", {"state": "running", **message})
        )

    def _keep(self, outcome: dict[str, Any]) -> ServedModel:
        """Write the refit down, then make its model ready."""
        data = base64.b64decode(outcome.pop("model"))

        def keep(connection: sa.Connection) -> int:
            number = connection.execute(
                models.insert().values(created=time.time(), data=data, **outcome)
            ).inserted_primary_key
            assert number is not None
            connection.execute(
                models.update().where(models.c.id <= number[0] - _KEPT).values(data=None)
            )
            return number[0]

        number = self.store.writer.submit(keep).result()
        fitted = ServedModel(number, loads(data), outcome["votes"])
        fitted.warm()
        return fitted
