"""The state of a running server (store, items, model, sessions) and its operations."""

import logging
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from threadpoolctl import threadpool_limits

from mallowmix.data.comparisons import Comparisons
from mallowmix.errors import DataError, Option
from mallowmix.model.fitted_model import AnyModel, as_fitted
from mallowmix.model.model_file import loads
from mallowmix.readers.names_file import ItemName
from mallowmix.web.events import Hub
from mallowmix.web.item_names import check_visible
from mallowmix.web.known_people import KnownPeople
from mallowmix.web.participants import add_person, delete_person, origin_of
from mallowmix.web.prepared_answers import ServedModel
from mallowmix.web.questions import PairQuestion, next_question
from mallowmix.web.rate_limits import Rates
from mallowmix.web.refit import Refitter
from mallowmix.web.schema import items as items_table
from mallowmix.web.sessions import AdminSessions, SessionCache, digest, link_of, new_token
from mallowmix.web.settings import Settings
from mallowmix.web.tally import Tally
from mallowmix.web.vote_store import Item, Store
from mallowmix.web.work_pool import WorkPool

_log = logging.getLogger("mallowmix.web")
_REMEMBERED = 20_000  # questions that wait for an answer
_LONG = 600.0  # seconds that an export may take
_PUBLISH_EVERY = 1.0  # seconds between two words about the number of votes


class Site:
    """One survey, one model, one database of votes.

    Parameters
    ----------
    database : str
        A file (SQLite) or postgresql://…
    settings : Settings
    model : M4 or FittedModel
        The first model; None uses the newest in the database, if any.
    names : list of str
        Items that must be in the survey.
    crowd : Comparisons
        Comparisons of known people, to be explored on the page; not participants.
    details : mapping
        Descriptions and pictures (paths of files) of items, by their names.
    """

    def __init__(
        self,
        database: str,
        settings: Settings,
        *,
        model: AnyModel | None = None,
        names: list[str] | None = None,
        crowd: Comparisons | None = None,
        details: Mapping[str, ItemName] | None = None,
    ) -> None:
        self.settings, self.hub, self.known, self.admins = (
            settings,
            Hub(),
            SessionCache(),
            AdminSessions(),
        )
        self.newcomers = Rates(settings.rate / 10, 10 * settings.rate)
        self.details = dict(details or {})
        self.lock = threading.Lock()
        self.counts = {"votes": 0, "skipped": 0, "people": 0}
        self.store = Store(database, self._committed, wait=settings.database_wait)
        self.refitter = Refitter(self.store, settings, self.hub, self._ready)
        wanted = [*(names or []), *([] if model is None else map(str, model.items.tolist()))]
        for name in wanted:
            check_visible(name)
        self.store.add_items(wanted)
        self.fitted = self._first_model(model)
        # after a restart, what the model in use has not learnt from is new again
        self.refitter.new = self.store.unlearnt(0 if self.fitted is None else self.fitted.version)
        self.crowd = (
            None
            if crowd is None or self.fitted is None
            else KnownPeople(crowd.with_items(self.fitted.model.items))
        )
        self._waiting: OrderedDict[int, tuple[tuple[int, int, int], PairQuestion | None]] = (
            OrderedDict()
        )
        self.quick = WorkPool("question", threads=1, waiting=256, seconds=settings.deadline)
        self.slow = WorkPool("reader", threads=2, waiting=256, seconds=settings.deadline)
        self.heavy = WorkPool("result", threads=2, waiting=16, seconds=settings.deadline)
        self._published, self._blas = 0.0, None
        self.reload()
        if len(self.items) < 2:
            raise DataError(
                "There are fewer than two items to ask about: name a model, or give a list with ",
                Option("items"),
                ".",
            )

    def _first_model(self, model: AnyModel | None) -> ServedModel | None:
        """The newest refit that the database holds and that can be used; else the given model."""
        fits = {fit["id"]: fit["votes"] for fit in self.store.fits()}
        for number, _, data in self.store.kept_models():
            try:
                return _warmed(ServedModel(number, loads(data), fits[number]))
            except Exception as error:
                _log.error("Model %d in %s is damaged: %s", number, self.store.database, error)
        if model is None:
            return None
        return _warmed(ServedModel(0, model, int(as_fitted(model).report.n_comparisons or 0)))

    def reload(self) -> None:
        """Read items and counts afresh, after a change to them."""
        items, counts, tally = (
            self.store.items(),
            self.store.counts(),
            Tally(self.store.pair_counts()),
        )
        with self.lock:
            self.items = {item.id: item for item in items}
            self.counts, self.tally = counts, tally
            self._waiting.clear()

    def start(self) -> None:
        """On the event loop, before the first request."""
        # a question computed in a thread waits less for the loop to let go
        sys.setswitchinterval(0.001)
        self._blas = threadpool_limits(1)  # matrices of one person are small
        self.hub.start()
        self.refitter.start()

    def close(self) -> None:
        """After the last request."""
        if self._blas is not None:
            self._blas.restore_original_limits()
        self.hub.stop()
        self.refitter.stop()
        for pool in (self.quick, self.slow, self.heavy):
            pool.stop()
        self.store.close()

    def _committed(self, n: int) -> None:
        """Count new votes; called by the writer's thread after each commit."""
        self.counts["votes"] += n
        self.refitter.counted(n)
        if n and time.monotonic() - self._published > _PUBLISH_EVERY:
            self._published = time.monotonic()
            self.hub.publish("votes", {"votes": self.counts["votes"]})

    def _ready(self, fitted: ServedModel) -> None:
        """A refit's model takes the place of the one in use."""
        self.fitted = fitted
        with self.lock:
            self._waiting.clear()
        self.hub.publish(
            "model",
            {
                "version": fitted.version,
                "components": fitted.model.n_components,
                "votes": fitted.votes,
            },
        )

    async def run_quick(self, call: Any, *arguments: Any) -> Any:
        """Choose a question, in a thread of its own."""
        return await self.quick.run(call, *arguments)

    async def run_slow(self, call: Any, *arguments: Any) -> Any:
        """Read from the database."""
        return await self.slow.run(call, *arguments)

    async def run_long(self, call: Any, *arguments: Any) -> Any:
        """Read much from the database."""
        return await self.slow.run(call, *arguments, seconds=_LONG)

    async def run_heavy(self, call: Any, *arguments: Any) -> Any:
        """Compute someone's result; a few may wait for it, and no more."""
        return await self.heavy.run(call, *arguments)

    def question(self, person: int) -> tuple[PairQuestion | None, Any, tuple[float, float]]:
        """Return the next question, the person's answers, and the seconds (wall, CPU) it took.

        It is the same question until they answer.
        """
        answers, fitted = self.store.answers_of(person), self.fitted
        state = (len(answers), 0 if fitted is None else fitted.version, len(self.items))
        with self.lock:
            waiting = self._waiting.get(person)
        if waiting is not None and waiting[0] == state:
            return waiting[1], answers, (0.0, 0.0)
        clock, processor = time.perf_counter(), time.thread_time()
        asked = next_question(fitted, self.items, answers, self.tally, person)
        took = (time.perf_counter() - clock, time.thread_time() - processor)
        if asked is not None:
            self.tally.add(asked.first, asked.second)
        with self.lock:
            self._waiting[person] = (state, asked)
            if len(self._waiting) > _REMEMBERED:
                self._waiting.popitem(last=False)
        return asked, answers, took

    def person_of(self, token: str) -> int | None:
        """Whose token it is."""
        name = digest(token)
        person = self.known.get(name)
        if person is None:
            person = self.store.person_by("token", name)
            if person is not None:
                self.known.put(name, person)
        return person

    async def new_person(self, address: str, invitation: str | None = None) -> tuple[Any, str]:
        """A participant: number, or why they may not begin; and token of the session."""
        token, secret = new_token(), self.store.secret
        names = {"token": digest(token), "link": digest(link_of(secret, token))}
        person = await self.store.writer.write(
            lambda connection: add_person(
                connection,
                names,
                origin_of(secret, address),
                invitation=invitation,
                most=self.settings.people_per_address,
            )
        )
        if isinstance(person, int):
            self.known.put(names["token"], person)
        return person, token

    async def delete_person(self, person: int) -> bool:
        """Delete a person, their votes and proposals; return whether they existed."""
        gone = await self.store.writer.write(lambda connection: delete_person(connection, person))
        self.known.forget(person)
        await self.run_slow(self._tidy)
        self.refitter.counted(gone)  # something to learn again for, even if nobody votes any more
        return bool(gone)

    def _tidy(self) -> None:
        self.store.checkpoint()
        self.reload()

    async def set_status(self, item: int, status: str) -> None:
        """Let an item in, turn it down, or ask about it no more."""

        def change(connection: sa.Connection) -> None:
            connection.execute(
                items_table.update().where(items_table.c.id == item).values(status=status)
            )

        await self.store.writer.write(change)
        await self.run_slow(self.reload)

    async def add_item(self, name: str, status: str, person: int | None = None) -> bool:
        """A new item; False where there is one of that name."""

        def add(connection: sa.Connection) -> bool:
            if (
                connection.execute(
                    sa.select(items_table.c.id).where(items_table.c.name == name)
                ).first()
                is not None
            ):
                return False
            row = {"name": name, "status": status, "proposed_by": person, "created": time.time()}
            connection.execute(items_table.insert().values(**row))
            return True

        added = await self.store.writer.write(add)
        if added:
            await self.run_slow(self.reload)
        return added

    def shown(self, item: int) -> dict[str, Any]:
        """An item as a page shows it: its number, name, description, and picture's address."""
        name = self.items[item].name
        about = self.details.get(name, ItemName(name))
        picture = f"/pictures/{item}" if about.picture else None
        return {"id": item, "name": name, "description": about.description, "picture": picture}

    def item_named(self, name: str) -> Item | None:
        """An item by its name."""
        return next((item for item in self.items.values() if item.name == name), None)


def _warmed(fitted: ServedModel) -> ServedModel:
    fitted.warm()
    return fitted
