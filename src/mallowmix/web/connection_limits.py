"""How many connections may be open, of one address and of all; idle ones make room for new ones."""

from typing import Protocol


class Connection(Protocol):
    """An open connection, as the limits see it."""

    @property
    def is_waiting(self) -> bool:
        """Whether no whole request has come that is not answered yet."""
        ...

    def drop(self) -> None:
        """Close it, since others need its room."""
        ...

    def refuse(self) -> None:
        """Answer that there is no room, and close it."""
        ...


class ConnectionLimits:
    """Counts open connections by address.

    A connection beyond a limit closes the oldest one that waits for its client: of the same
    address, or, where there are too many in all, of the address that has most. Where none waits,
    the new one is refused.

    Parameters
    ----------
    each, total : int
        The most connections of one address, and of all.
    """

    def __init__(self, each: int, total: int) -> None:
        self.each, self.total = each, total
        self._open: dict[str, dict[Connection, None]] = {}  # the oldest first
        self.count = 0

    def add(self, connection: Connection, address: str, *, limited: bool = True) -> None:
        """One more; `limited`: whether the limit of one address applies to it."""
        mine = self._open.setdefault(address, {})
        mine[connection] = None
        self.count += 1
        if limited and len(mine) > self.each:
            self._make_room(mine, mine, connection)
        elif self.count > self.total:
            most = max(self._open.values(), key=len)
            self._make_room(most if len(most) > len(mine) else mine, mine, connection)

    def remove(self, connection: Connection, address: str) -> None:
        """One less."""
        mine = self._open.get(address, {})
        if connection in mine:
            del mine[connection]
            self.count -= 1
        if not mine:
            self._open.pop(address, None)

    def _make_room(
        self, among: "dict[Connection, None]", mine: "dict[Connection, None]", new: Connection
    ) -> None:
        waiting = (other for other in among if other is not new and other.is_waiting)
        other = next(waiting, None)
        # counted no more: several may come before the connection is really closed
        self.count -= 1
        if other is None:
            del mine[new]
            new.refuse()
        else:
            del among[other]
            other.drop()
