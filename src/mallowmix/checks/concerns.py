"""Concerns about data: what limits a fit, in plain words, and what to do about it."""

from typing import NamedTuple

from mallowmix.checks.component_support import Support
from mallowmix.checks.position_bias import PositionBias
from mallowmix.checks.preference_cycles import PreferenceCycle
from mallowmix.data.text import joined

_SHOWN = 5  # names listed in a sentence


class Limits(NamedTuple):
    """Users and items that limit a fit, by their labels."""

    users_below_two: list[str]
    never_compared: list[str]
    never_win: list[str]
    never_lose: list[str]
    pieces: list[list[str]]  # largest first


class Concern(NamedTuple):
    """A warning in plain words, and what to do about it."""

    warning: str
    advice: str


def concerns_of(
    limits: Limits,
    position: PositionBias | None = None,
    support: Support | None = None,
    cycle: PreferenceCycle | None = None,
) -> list[Concern]:
    """Everything that limits a fit, what matters most first.

    Parameters
    ----------
    limits : Limits
        Users and items with too few comparisons.
    position : PositionBias, optional
        Which side wins, where sides are known.
    support : Support, optional
        Whether the data supports so many components.
    cycle : PreferenceCycle, optional
        Majorities that go in a circle.

    Returns
    -------
    list of Concern
        A warning and advice each; empty where nothing limits a fit.
    """
    found = [
        _few(limits.users_below_two),
        _uncompared(limits.never_compared),
        _never_win(limits.never_win),
        _never_lose(limits.never_lose),
        _in_pieces(limits.pieces),
        _in_a_circle(cycle),
        _one_sided(position),
        _unsupported(support),
    ]
    return [concern for concern in found if concern is not None]


def _few(users: list[str]) -> Concern | None:
    if not users:
        return None
    made, show = ("user made", "it shows") if len(users) == 1 else ("users made", "they show")
    are = "is" if len(users) == 1 else "are"
    return Concern(
        f"{len(users):,} {made} fewer than two comparisons: {show} nothing about which choices go "
        f"together, and {are} left out of the moments.",
        f"Ask {_named(users)} for more comparisons, or leave them as they are: nobody else is "
        "affected.",
    )


def _uncompared(items: list[str]) -> Concern | None:
    if not items:
        return None
    verb, its = ("is", "its position") if len(items) == 1 else ("are", "their positions")
    return Concern(
        f"{_named(items)} {verb} in no comparison: {its} in every ranking would be a guess.",
        f"Ask for comparisons with {_named(items)}, or leave what was never compared out of the "
        "items.",
    )


def _never_win(items: list[str]) -> Concern | None:
    if not items:
        return None
    verb, they = ("wins", "it") if len(items) == 1 else ("win", "they")
    return Concern(
        f"{_named(items)} never {verb}: the data cannot tell how far below the others {they} "
        "should stand.",
        f"Ask for comparisons of {_named(items)} with other unpopular items, or leave "
        f"{_them(items)} out.",
    )


def _never_lose(items: list[str]) -> Concern | None:
    if not items:
        return None
    verb, they = ("loses", "it") if len(items) == 1 else ("lose", "they")
    return Concern(
        f"{_named(items)} never {verb}: the data cannot tell how far above the others {they} "
        "should stand.",
        f"Ask for comparisons of {_named(items)} with other popular items, or leave "
        f"{_them(items)} out.",
    )


def _in_pieces(pieces: list[list[str]]) -> Concern | None:
    if len(pieces) < 2:
        return None
    sizes = ", ".join(str(len(piece)) for piece in pieces[:_SHOWN]) + (
        ", …" if len(pieces) > _SHOWN else ""
    )
    return Concern(
        f"The comparisons fall into {len(pieces)} pieces (of {sizes} items): nothing was compared "
        "across them, directly or through other items, so the order between pieces would be a "
        "guess.",
        f"Ask for comparisons across the pieces, of {pieces[1][0]!r} with {pieces[0][0]!r} for "
        "example, or fit each piece alone.",
    )


def _in_a_circle(cycle: PreferenceCycle | None) -> Concern | None:
    if cycle is None or not cycle.beyond_mixtures:
        return None  # groups of people may explain it, which is what a mixture is for
    return Concern(
        cycle.sentence(),
        f"Look at how {_named(list(cycle.items))} were compared: by different people, or on "
        "different grounds. A ranking is no description of choices that go round.",
    )


def _one_sided(position: PositionBias | None) -> Concern | None:
    if position is None or not position.clear:
        return None
    side, wins = (
        ("left", position.left_wins)
        if position.left_wins > 0.5
        else ("right", 1 - position.left_wins)
    )
    return Concern(
        f"People choose the {side} side more often than they should: of two equally good items, "
        f"the one on the {side} wins {100 * wins:.1f} % of the time. That is habit, no preference.",
        "Show sides at random: then it is noise and favours no item. An item that stood mostly on "
        "one side has a wrong position.",
    )


def _unsupported(support: Support | None) -> Concern | None:
    if support is None or support.verdict == "yes":
        return None
    K = support.n_components
    can = "cannot support" if support.verdict == "no" else "barely supports"
    most = support.most_components
    fewer = (
        f"{most} or fewer"
        if most > 1
        else "one ranking for all"
        if most == 1 and K > 1
        else "fewer"
    )
    return Concern(
        f"This data {can} {K} {'component' if K == 1 else 'components'}: see below what is short.",
        f"Try {fewer}, or collect more of what is short; mallowmix choose-k measures how many "
        "components can be distinguished.",
    )


def _named(labels: list[str]) -> str:
    """'tea', 'coffee' and 3 more."""
    shown = [repr(label) for label in labels[:_SHOWN]]
    if len(labels) > _SHOWN:
        return f"{', '.join(shown)} and {len(labels) - _SHOWN:,} more"
    return joined(shown)


def _them(labels: list[str]) -> str:
    return "it" if len(labels) == 1 else "them"
