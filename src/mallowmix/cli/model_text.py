"""A model in words, as a table and as plain JSON values."""

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from mallowmix.data.text import counted as counted
from mallowmix.data.text import joined

if TYPE_CHECKING:
    from mallowmix.data.comparisons import Comparisons
    from mallowmix.model.fitted_model import FittedModel

TOP = 5  # items shown of either end unless asked
_CLEAR = 0.5  # below this λ the others follow a pair less than half as often


def safe(label: object) -> str:
    """Spell out what does not print in a label (a line break, an escape code)."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in str(label)
    )


def new_table(*headings: str, numeric: tuple[str, ...] = ()) -> Table:
    """An empty table in the style of all tables here."""
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(
            heading, justify="right" if heading in numeric else "left", overflow="fold"
        )
    return table


def sizes(comparisons: "Comparisons") -> str:
    """How much there is, in words."""
    made = counted(comparisons.n_comparisons, "comparison", "comparisons")
    return (
        f"{made} of {comparisons.n_items:,} items by "
        f"{counted(comparisons.n_users, 'person', 'people')}"
    )


def named_component(model: "FittedModel", component: int) -> str:
    """As in "component 1" or "1 comfort"; components are numbered from 1."""
    name = model.component_name(component)
    return f"{component} {safe(name)}" if name else f"component {component}"


def as_percent(share: float) -> str:
    """0.4213 as 42.1 %."""
    return f"{100 * share:.1f} %"


def chain(items: list[Any]) -> str:
    """The items as a > b > c."""
    return " > ".join(map(safe, items))


def components_table(model: "FittedModel", n_top: int | None = None) -> Table:
    """Make one row for each component, by share: dispersion, ends of its ranking, novel pair."""
    table = new_table(
        "component", "share", "phi", "ranking, best first", numeric=("component", "share", "phi")
    )
    from mallowmix.checks.unsure_components import unsure_components, unsure_reasons

    table.show_lines = True
    pairs, doubts = novel_pair_values(model), unsure_reasons(unsure_components(model))
    for row in model.table():
        unsure = [f"unsure: {reason}" for reason in doubts.get(row["component"], [])]
        alone = None if unsure else pairs[row["component"] - 1]
        said = Text(_in_words(model, row["component"], alone), style="italic")
        name = [Text(safe(row["name"]), style="bold")] if row.get("name") else []
        ends = Group(*name, _ends(row["items"], n_top or TOP), said, *unsure)
        table.add_row(str(row["component"]), as_percent(row["share"]), f"{row['phi']:.3f}", ends)
    return table


def _ends(items: list[Any], n_top: int) -> Table:
    """Both ends of a ranking, or all of it where it is short."""
    ends = Table.grid(padding=(0, 2, 0, 0))
    if len(items) <= 2 * n_top:
        ends.add_row(chain(items))
    else:
        ends.add_row(Text("top", style="dim"), chain(items[:n_top]))
        ends.add_row(Text("bottom", style="dim"), chain(items[-n_top:]))
    return ends


def novel_pair_values(model: "FittedModel") -> list[dict[str, Any] | None]:
    """Return for each component its novel pair and λ, or None.

    The other components prefer the pair at most λ times as often.
    """
    from mallowmix.model.separability import novel_pairs as best_pairs

    if model.n_items < 2:
        return [None] * model.n_components
    items = [str(item) for item in model.items.tolist()]
    found = best_pairs(model.beta())
    return [
        {"winner": items[i], "loser": items[j], "lambda": float(lam)}
        if i >= 0 and lam < 1
        else None
        for i, j, lam in zip(found.winner, found.loser, found.lam, strict=True)
    ]


def _in_words(model: Any, component: int, pair: dict[str, Any] | None) -> str:
    """The pair that singles a component out, or the items that it puts most unlike the others."""
    if model.n_components == 1:
        return "everyone: it is the only component"
    if pair is not None and pair["lambda"] < _CLEAR:
        over = f"{safe(pair['winner'])} over {safe(pair['loser'])}"
        return f"the people who put {over} when the others do not"
    from mallowmix.assess.contrasts import differing_items

    items = [safe(item) for item in differing_items(model, component - 1)]
    return f"puts {joined(items)} most unlike the others" if items else "no pair sets it apart"


def model_values(model: "FittedModel", n_top: int | None = None) -> dict[str, Any]:
    """Return the model as plain JSON values: sizes, components (by share), and the fit report."""
    from mallowmix.checks.unsure_components import unsure_components, unsure_reasons

    pairs, doubts = novel_pair_values(model), unsure_reasons(unsure_components(model))
    return {
        "n_components": model.n_components,
        "n_items": model.n_items,
        "components": [
            _component_values(model, row, pairs[row["component"] - 1])
            | {"unsure": doubts.get(row["component"], [])}
            for row in model.table(n_top)
        ],
        "report": model.report.to_dict(),
    }


def _component_values(
    model: "FittedModel", row: dict[str, Any], pair: dict[str, Any] | None
) -> dict[str, Any]:
    return {
        "component": row["component"],
        **({"name": row["name"]} if row.get("name") else {}),
        "share": row["share"],
        "phi": row["phi"],
        "alpha": float(model.alpha[row["component"] - 1]),
        "items": [str(item) for item in row["items"]],
        "novel_pair": pair,
    }


def predictor_in_words(trace: Any) -> str:
    """How well held-out users are predicted, about which items, and by which models.

    Comparisons of items that a user has not compared before come first: they are harder.
    """
    names = "; ".join(each.name for each in trace.members)
    users = counted(trace.n_users, "held-out user", "held-out users")
    all_items = f"{trace.log_loss:.3f} against {trace.one_ranking:.3f}"
    if trace.log_loss_new_items is None:
        score = f"{all_items} for one ranking for all"
    else:
        score = (
            f"{trace.log_loss_new_items:.3f} against {trace.one_ranking_new_items:.3f} for one "
            f"ranking for all, on two items that they have not compared before ({all_items} on "
            "all that was held out)"
        )
    return (
        f"Predictions of {users}, who also chose what predicts: log-loss per comparison {score}. "
        f"By: {names}."
    )
