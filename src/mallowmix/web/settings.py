"""What a server is given when it starts: names, limits, when to refit; checked once, then never changed."""

from dataclasses import dataclass
from typing import Literal

from mallowmix.errors import OptionError, check_at_least

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
_SHORTEST_TOKEN = 12


@dataclass(frozen=True)
class Settings:
    """Everything that can be turned.

    title, question : what stands over the survey, and over each pair
    questions : the most that one person is asked; `least` at the least, unless the pairs run out
    enough : nats. Asking stops when no open pair tells more than this about the person
    refit_votes, refit_minutes : learn again after so many new votes, or so long after the first new one; 0 is never
    n_components : K of a refit, or "auto"
    nice : how far the process that learns stands back behind the server, from 0 to 19
    propose : whether participants may propose items (an admin lets them in)
    admin_token : opens the admin pages; None closes them
    rate : requests a second for each session, ten seconds' worth at once; 0 sets no limit
    body : bytes that a request may bring
    hosts : names that the Host header may have; none given, any
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
