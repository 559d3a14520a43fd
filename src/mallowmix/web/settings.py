"""Settings of a server: names, limits, when to refit; checked once, then never changed."""

from dataclasses import dataclass
from typing import Literal

from mallowmix.errors import OptionError, check_at_least

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
_SHORTEST_TOKEN = 12


@dataclass(frozen=True)
class Settings:
    """All settings of a server.

    Attributes
    ----------
    title, question : str
        The headings of the survey and of each pair.
    questions, least : int
        The most questions for one person, and the fewest before `enough` may stop them.
    enough : float
        In nats: stop when no open pair is more informative.
    refit_votes, refit_minutes
        Refit after so many new votes, or so long after the first new one; 0 is never.
    n_components : int or "auto"
        K of a refit.
    nice : int
        The niceness of the process that refits, from 0 to 19.
    propose : bool
        Whether participants may propose items (an admin accepts them).
    admin_token : str or None
        Opens the admin pages; None closes them.
    rate : float
        Requests a second for each session, ten seconds' worth at once; 0 sets no limit.
    body : int
        The most bytes of a request.
    hosts : tuple of str
        Values that the Host header may have; any if empty.
    """

    title: str = "What do you prefer?"
    question: str = "Which do you prefer?"
    questions: int = 25
    least: int = 8
    enough: float = 0.02
    refit_votes: int = 0
    refit_minutes: float = 0.0
    n_components: int | Literal["auto"] = "auto"
    nice: int = 10
    propose: bool = False
    admin_token: str | None = None
    rate: float = 20.0
    body: int = 65_536
    hosts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_at_least("questions", self.questions, 1)
        check_at_least("refit_votes", self.refit_votes, 0)
        check_at_least("refit_minutes", self.refit_minutes, 0)
        check_at_least("rate", self.rate, 0)
        if self.n_components != "auto":
            check_at_least("n_components", self.n_components, 1)
        if self.admin_token is not None and len(self.admin_token) < _SHORTEST_TOKEN:
            raise OptionError(
                f"The admin token has {len(self.admin_token)} characters; give at least "
                f"{_SHORTEST_TOKEN}, such as the output of `openssl rand -hex 16`.",
                option="admin_token",
                value="***",  # a secret
                expected=f"at least {_SHORTEST_TOKEN} characters",
            )
