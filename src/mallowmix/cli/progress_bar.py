"""Progress with the time left, on stderr, where that is a terminal."""

import contextlib
from collections.abc import Callable, Iterator

from mallowmix.cli.shell import screen

Report = Callable[[str, int, int], None]


@contextlib.contextmanager
def progress(*, hidden: bool = False) -> Iterator[Report | None]:
    """Yield a function (step, done, total) that draws progress bars; None without a terminal."""
    console = screen(stderr=True)
    if hidden or not console.is_terminal:
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
        yield _reporter(bars)


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
