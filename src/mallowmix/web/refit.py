"""When to refit, and doing it: one refit at a time, in its own process; votes never wait for it."""

import base64
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from mallowmix.model.model_file import loads
from mallowmix.web.events import Hub
from mallowmix.web.prepared_answers import ServedModel
from mallowmix.web.schema import models
from mallowmix.web.settings import Settings
from mallowmix.web.vote_store import Store

_LOOK = 0.5  # seconds between two looks at the number of votes
_KEPT = 5  # model files kept in the database; of older refits the numbers alone


class Refitter:
    """Watches the votes in a thread and starts refits."""

    def __init__(
        self, store: Store, settings: Settings, hub: Hub, ready: Callable[[ServedModel], None]
    ) -> None:
        self.store, self.settings, self.hub, self.ready = store, settings, hub, ready
        self.new, self.failed, self.running = 0, "", False
        self._first_new = 0.0
        self._requested, self._end = threading.Event(), threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._thread = threading.Thread(target=self._watch, name="refit", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; a refit that runs is given up."""
        self._end.set()
        self._requested.set()
        if self._process is not None:
            self._process.kill()
        if self._thread.ident is not None:
            self._thread.join(timeout=1)

    def counted(self, n: int) -> None:
        """So many more votes have been committed."""
        if n and not self.new:
            self._first_new = time.monotonic()
        self.new += n

    def request(self) -> None:
        """Learn again as soon as possible, whatever the number of new votes."""
        self._requested.set()

    def due(self) -> bool:
        """Whether there are enough new votes, or some have waited long enough."""
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
        counted, self.running, self.failed = self.new, True, ""
        self.hub.publish("fit", {"state": "running", "step": "reading", "done": 0, "total": 1})
        try:
            outcome = self._run()
            if "failed" in outcome:
                raise RuntimeError(outcome["failed"])
            self.ready(self._keep(outcome))
            self.hub.publish(
                "fit",
                {"state": "done", "components": outcome["components"], "votes": outcome["votes"]},
            )
        except Exception as error:
            self.failed = (
                str(error) if isinstance(error, RuntimeError) else f"{type(error).__name__}"
            )
            self.hub.publish("fit", {"state": "failed", "reason": self.failed})
        finally:
            self.running, self._first_new = False, time.monotonic()
            self.new = max(self.new - counted, 0)

    def _run(self) -> dict[str, Any]:
        """The worker's last line; its progress is passed on."""
        command = [sys.executable, "-m", "mallowmix.web.worker"]
        pipes: dict[str, Any] = {
            "stdin": subprocess.PIPE,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.DEVNULL,
        }
        with subprocess.Popen(command, text=True, **pipes) as process:
            self._process = process
            assert process.stdin is not None and process.stdout is not None
            url = self.store.url.render_as_string(hide_password=False)
            request = {
                "database": url,
                "components": self.settings.n_components,
                "nice": self.settings.nice,
            }
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.close()
            outcome: dict[str, Any] = {"failed": "The process that learns ended without an answer."}
            for line in process.stdout:
                message = json.loads(line)
                if "step" in message:
                    self.hub.publish("fit", {"state": "running", **message})
                else:
                    outcome = message
        self._process = None
        return outcome

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
