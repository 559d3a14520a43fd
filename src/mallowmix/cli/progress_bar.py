"""Progress with the time left, on stderr, where that is a terminal."""

import contextlib
from collections.abc import Callable, Iterator

from mallowmix.cli.compile_note import FIRST_FIT_SECONDS, NOTE, watch_compiling
from mallowmix.cli.shell import echo_note, screen

Report = Callable[[str, int, int], None]


@contextlib.contextmanager
def progress(*, hidden: bool = False) -> Iterator[Report | None]:
    """Yield a function (step, done, total) that draws progress bars; None without a terminal."""
    console = screen(stderr=True)
    if hidden:
        yield None
        return
    if not console.is_terminal:
        with watch_compiling(_once(lambda: echo_note(f"{NOTE}; later runs start at once."))):
            yield None
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    words = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("time left"),
    )
    with Progress(
        *words,
        TimeRemainingColumn(elapsed_when_finished=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as bars:
        report = _reporter(bars)
        with watch_compiling(lambda spent: report(NOTE, *_of_the_first_fit(spent))):
            yield report


def _of_the_first_fit(spent: float) -> tuple[int, int]:
    """Seconds done and in all; more than were expected never look done."""
    return min(int(spent), FIRST_FIT_SECONDS - 1), FIRST_FIT_SECONDS


def _once(tell: Callable[[], None]) -> Callable[[float], None]:
    said: list[float] = []

    def heard(spent: float) -> None:
        if not said:
            said.append(spent)
            tell()

    return heard


def _reporter(bars) -> Report:
    tasks, reached = {}, {}

    def report(step: str, done: int, total: int) -> None:
        if step not in tasks:
            tasks[step] = bars.add_task(step, total=total)
        elif done < reached[step]:
            bars.reset(tasks[step], total=total)  # the step starts again
        bars.update(tasks[step], completed=done, total=total)
        reached[step] = done

    return report
