"""The database that `serve` keeps votes in: why it cannot be opened, in one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager

from mallowmix.errors import FileError


@contextmanager
def opening_votes() -> Iterator[None]:
    """Say in one sentence why a database of votes cannot be opened."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).strip().splitlines()[0].rstrip(".")
        raise FileError(
            f"The database of votes cannot be used ({reason}): check it, or name a new file, or "
            "the one that `mallowmix serve` made."
        ) from None
