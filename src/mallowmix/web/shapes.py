"""The shapes of requests and responses of the API; everything that comes in is checked here."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from mallowmix.web.early_results import OthersChose, WinCount
from mallowmix.web.item_names import LONGEST

MOST_CHOICES = 2000  # of one person in one request, each counted as often as it was made
Id = Annotated[int, Field(ge=1, le=2**31 - 1)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST)]
Key = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_-]{8,64}$",
        description="your own name for this vote: a retry repeats it",
    ),
]
Pair = Annotated[list[Name], Field(min_length=2, max_length=2)]


class Strict(BaseModel):
    """Unknown fields are refused, and values are not converted: true is no number."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class Problem(BaseModel):
    """What is wrong, in a sentence."""

    detail: str


class NewPerson(Strict):
    """Become a participant. token: also return the session token, for programs without cookies.

    invitation: what an invitation link ends with, where the survey needs one.
    """

    token: bool = False
    invitation: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{24}$")] | None = None


class PersonOut(BaseModel):
    """A participant. csrf: for the header X-CSRF-Token; link: names the result page."""

    person: str
    csrf: str
    link: str
    token: str | None = None


class Me(BaseModel):
    """How far the participant is; person is null where there is none."""

    person: str | None
    csrf: str = ""
    link: str = ""
    answered: int = 0
    skipped: int = 0


class ItemOut(BaseModel):
    """Something that is compared; picture is an address on this server, where there is one."""

    id: Id
    name: str
    description: str = ""
    picture: str | None = None


class QuestionOut(BaseModel):
    """The next pair, or none when the survey is done. information: that of the answer, in nats."""

    done: bool
    finished: bool = Field(description="every pair has been answered")
    number: int
    most: int
    progress: Annotated[float, Field(ge=0, le=1)]
    first: ItemOut | None = None
    second: ItemOut | None = None
    information: float | None = None
    model: int = 0


class VoteIn(Strict):
    """An answer to a pair of items, by their numbers."""

    key: Key
    first: Id
    second: Id
    choice: Literal["first", "second", "skip"]


class VoteOut(BaseModel):
    """The vote is in the database. repeated: it was there already."""

    stored: Literal[True] = True
    repeated: bool


class PairChoice(Strict):
    """Someone preferred the winner to the loser, so many times."""

    winner: Name
    loser: Name
    times: Annotated[float, Field(gt=0, le=1000)] = 1.0


class Choices(Strict):
    """The given choices of a person."""

    choices: Annotated[list[PairChoice], Field(max_length=MOST_CHOICES)] = []

    @model_validator(mode="after")
    def not_too_many(self) -> Self:
        """What is computed costs as much as a choice for each time that it was made."""
        if sum(choice.times for choice in self.choices) > MOST_CHOICES:
            raise PydanticCustomError(
                "too_many_choices",
                "The choices add up to more than {most} times",
                {"most": f"{MOST_CHOICES:,}"},
            )
        return self


class PredictIn(Choices):
    """Which pairs to predict; without choices, for the population."""

    pairs: Annotated[list[Pair], Field(min_length=1, max_length=1000)]


class PredictOut(BaseModel):
    """The probability that the first of each pair is preferred."""

    probabilities: list[float]


class Weight(BaseModel):
    """A person's weight of one taste, its interval, and the share that it has in the crowd."""

    component: int
    name: str = ""
    weight: float
    low: float
    high: float
    crowd: float
    likes: list[str]
    unsure: bool = False


class WeightsOut(BaseModel):
    """A person's mixture; level is that of the intervals."""

    level: float
    mixture: list[Weight]


class Line(BaseModel):
    """One line of a ranking: place 1 is best, low to high its range, crowd the population's."""

    item: str
    place: int
    low: int
    high: int
    wins: float
    crowd: int


class RankOut(BaseModel):
    """A whole ranking, best first."""

    level: float
    ranking: list[Line]


class OwnItem(BaseModel):
    """An item's chance against another one: with this person, and by their mixture alone."""

    item: str
    wins: float
    mixture: float


class OwnTaste(BaseModel):
    """Items that a person likes far more, or less, than their mixture of tastes does."""

    more: list[OwnItem] = []
    less: list[OwnItem] = []


class ResultOut(BaseModel):
    """What a participant gets back; while there is no model, what others chose and win counts."""

    fitted: bool
    answered: int
    skipped: int
    level: float = 0.9
    agreement: float | None = None
    mixture: list[Weight] = []
    own: OwnTaste | None = Field(None, description="null where the model has no predictor")
    ranking: list[Line] = []
    differences: list[Line] = []
    others: list[OthersChose] = []
    so_far: list[WinCount] = []


class Taste(BaseModel):
    """A component: share, dispersion, items best first, the choice that singles it out (or null),
    the items that it puts most unlike the others, and why it is unsure, where it is.
    """

    component: int
    name: str = ""
    share: float
    phi: float
    items: list[str]
    telling: dict[str, Any] | None
    differing: list[str] = []
    unsure: list[str] = []


class Fit(BaseModel):
    """A refit: when, from how many votes, and how many of them the model before had predicted."""

    id: int
    created: float
    votes: int
    people: int
    components: int
    seconds: float
    predicted: float | None
    predicted_of: int


class ModelOut(BaseModel):
    """The model in use; version is null before the first fit, 0 for the one given at the start."""

    version: int | None
    votes: int
    items: list[str]
    tastes: list[Taste] = []
    crowd: list[Line] = []
    pairs: list[dict[str, Any]] = []
    splits: list[dict[str, Any]] = []
    growth: list[Fit] = []
    so_far: list[WinCount] = []


class Health(BaseModel):
    """Whether the server can take votes, and how many it has; `problem` where it cannot."""

    status: Literal["ok", "degraded"]
    problem: str = ""
    version: str
    api: Literal[1] = 1
    votes: int
    model: int | None
    fitting: bool


class Proposal(Strict):
    """An item that a participant would like to see."""

    name: Name


class Accepted(BaseModel):
    """What became of it."""

    status: str


class PeopleOut(BaseModel):
    """Known people and how they mix the tastes, in the order of `components`."""

    components: list[int]
    names: list[str] = []
    people: list[str]
    weights: list[list[float]]
    total: int


class KnownPerson(BaseModel):
    """One known person's choices and what the model makes of them."""

    choices: list[PairChoice]
