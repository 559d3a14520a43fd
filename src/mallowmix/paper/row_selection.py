"""Which rows of an experiment are computed: all, or those with certain values of key columns."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from mallowmix.errors import OptionError, did_you_choose

_COLUMNS = {"n_components": "k", "n_users": "users"}  # where an option is not called as its column


@dataclass(frozen=True)
class RowSelection:
    """Rows by the values of their key columns; a column for which nothing is named does not count.

    Parameters
    ----------
    system, method, references : tuple of str
        Systems; how rankings are recovered or how systems are scored; kinds of references.
    n_components, n_users : tuple of int
        K and M.
    phi : tuple of float
        Dispersions.
    seed : tuple of int
        Seeds.

    Examples
    --------
    >>> RowSelection(n_components=(5, 10)).options()
    ['-k', '5,10']
    """

    system: tuple[str, ...] = ()
    method: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    n_components: tuple[int, ...] = ()
    n_users: tuple[int, ...] = ()
    phi: tuple[float, ...] = ()
    seed: tuple[int, ...] = ()

    def named(self) -> Iterator[tuple[str, tuple[Hashable, ...]]]:
        """The options for which something is named, with their values."""
        for field in fields(self):
            if values := getattr(self, field.name):
                yield field.name, values

    def options(self) -> list[str]:
        """The words of a command line that select the same: names one by one, numbers in a list."""
        words: list[str] = []
        for name, values in self.named():
            option = "-k" if name == "n_components" else f"--{name.replace('_', '-')}"
            if isinstance(values[0], str):
                words += [word for value in values for word in (option, str(value))]
            else:
                words += [option, ",".join(map(str, values))]
        return words


def selected_tasks(tasks: Sequence[Any], selection: RowSelection) -> list[Any]:
    """The tasks whose rows are selected, in their order.

    Parameters
    ----------
    tasks : sequence of ExperimentTask
        Everything that an experiment computes.
    selection : RowSelection
        What is to be computed.

    Returns
    -------
    list of ExperimentTask
        Those with all of the values; the difference of two systems where both are named.

    Raises
    ------
    OptionError
        Where the experiment has no such column, no row with such a value, or none with all of them.
    """
    named, left = list(selection.named()), list(tasks)
    for option, values in named:
        _check(tasks, option, values)
        left = [task for task in left if _has(task, option, values)]
        if not left:
            expected = "one that a row has together with the others"
            raise OptionError(option=option, value=values[0], expected=expected)
    return left


def _check(tasks: Sequence[Any], option: str, values: tuple[Hashable, ...]) -> None:
    column = _COLUMNS.get(option, option)
    known = [
        value
        for value in dict.fromkeys(getattr(task, column, None) for task in tasks)
        if value is not None
    ]
    for value in values:
        if not known:
            expected = "left out with this experiment"
            raise OptionError(option=option, value=value, expected=expected)
        if value not in known:
            expected = f"one of {', '.join(map(repr, known))}"
            near = did_you_choose(value, known).lstrip()
            raise OptionError(option=option, value=value, expected=expected, hint=near or ())


def _has(task: Any, option: str, values: tuple[Hashable, ...]) -> bool:
    """Whether a task has one of the values, or is the difference of two systems that have them."""
    compared = getattr(task, "compares", ()) if option == "system" else ()
    both = bool(compared) and set(compared) <= set(values)
    return both or getattr(task, _COLUMNS.get(option, option)) in values
