"""Plain comparisons: a row says who preferred what. Also BayesMallows and choix."""

from collections.abc import Mapping
from typing import Any

from mallowmix.data.comparisons import Comparisons
from mallowmix.readers.headers import Roles
from mallowmix.readers.inputs import Input, as_weights
from mallowmix.readers.reading import Reading, ReadOptions
from mallowmix.readers.user_column import user_column

COMPARISONS = Roles(("user", "winner", "loser"), ("weight", "ranking_id"))
BAYESMALLOWS = Roles(
    ("user", "winner", "loser"),
    ("weight",),
    names={"winner": ("topitem",), "loser": ("bottomitem",)},
)
CHOIX = Roles(("winner", "loser"), ("user", "weight"))


def read_plain(
    source: Input, picked: Mapping[str, Any], options: ReadOptions, form: str
) -> Reading:
    """Check the columns user, winner, loser, weight and ranking_id, and code their labels."""
    columns = source.take(picked)
    user = user_column(
        columns, len(columns["winner"]), one_user=options.one_user, title=source.title
    )
    weight = as_weights(columns["weight"], source.where) if "weight" in columns else None
    comparisons = Comparisons.from_arrays(
        user,
        columns["winner"],
        columns["loser"],
        weight,
        ranking_id=columns.get("ranking_id"),
        self_pairs=options.self_pairs,
        missing=options.missing,
        where=source.where,
    )
    return Reading(comparisons, form, picked)
