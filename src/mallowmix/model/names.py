"""Names that people give: of components, and labels of items in place of identifiers."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from numbers import Integral
from typing import Any, TypeVar

from mallowmix.data.labels import text_of
from mallowmix.data.text import a_or_an
from mallowmix.errors import DataError, did_you_mean, python_literal

Model = TypeVar("Model")


def check_component_names(names: Sequence[str], n_components: int) -> None:
    """Raise a DataError unless there is a text for each component, no name twice."""
    if len(names) != n_components or not all(isinstance(name, str) for name in names):
        raise DataError(
            f"There are {n_components} components and {len(names)} names: give each component a "
            "text, or an empty one."
        )
    given = [name for name in names if name]
    twice = [name for name in given if given.count(name) > 1]
    if twice:
        raise DataError(f"Two components are called {twice[0]!r}: give each a name of its own.")


def with_component_names(
    known: tuple[str, ...], given: Mapping[int, str] | Sequence[str], n_components: int
) -> tuple[str, ...]:
    """The names of all components, of which some are given anew; () where none has a name."""
    if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
        raise DataError(
            f"The names of components are {a_or_an(type(given).__name__)}: give a list of them, or "
            'some by their numbers, as in {1: "comfort"}.'
        )
    if not isinstance(given, Mapping):
        given = dict(enumerate(given, start=1))
    names = list(known or [""] * n_components)
    for number, name in given.items():
        whole = isinstance(number, Integral) and not isinstance(number, bool)
        if not whole or not 1 <= number <= n_components:
            raise DataError(
                f"There is no component {python_literal(number)}: the model has {n_components}, "
                "numbered from 1."
            )
        if not isinstance(name, str):
            raise DataError(
                f"The name of component {number} is {a_or_an(type(name).__name__)}: give a text."
            )
        names[int(number) - 1] = " ".join(name.split())
    check_component_names(names, n_components)
    return tuple(names) if any(names) else ()


def with_item_labels(model: Model, labels: Mapping[str, str]) -> Model:
    """The same model, and all models inside it, with other labels for some items."""
    if not isinstance(labels, Mapping):
        raise DataError(
            f"The labels of items are {a_or_an(type(labels).__name__)}: give them by their old "
            'ones, as in {"p1": "Pizza"}.'
        )
    known = text_of(model.items)  # type: ignore[attr-defined]
    for old in labels:
        if str(old) not in known:
            raise DataError(
                f"The model has no item {old!r}; it has {len(known)} others."
                f"{did_you_mean(old, known)}"
            )
    new = {str(old): str(label) for old, label in labels.items()}
    return _relabelled(model, [new.get(text, text) for text in known])


def _relabelled(value: Any, items: list[str]) -> Any:
    """A dataclass with new `items`, in it and in the models that it holds."""
    if isinstance(value, tuple):
        return tuple(_relabelled(each, items) for each in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    changed = {
        field.name: items
        if field.name == "items"
        else _relabelled(getattr(value, field.name), items)
        for field in fields(value)
        if field.init
    }
    return replace(value, **{k: v for k, v in changed.items() if v is not getattr(value, k)})


def component_title(names: Sequence[str], component: int, word: str = "component ") -> str:
    """What a component is called: "component 1", or "component 1 (comfort)".

    Parameters
    ----------
    names : sequence of str
        A name for each, nothing for those without; or none at all.
    component : int
        Its number, from 1.
    word : str
        What stands before the number.

    Examples
    --------
    >>> component_title(["comfort", ""], 1), component_title([], 2, "Component ")
    ('component 1 (comfort)', 'Component 2')
    """
    name = names[component - 1] if names else ""
    return f"{word}{component} ({name})" if name else f"{word}{component}"


def component_titles(
    names: Sequence[str], n_components: int, word: str = "component "
) -> list[str]:
    """What all components are called, in tables and legends: `component_title` of each.

    Parameters
    ----------
    names : sequence of str
        A name for each, nothing for those without; or none at all.
    n_components : int
        K.
    word : str
        What stands before each number.

    Examples
    --------
    >>> component_titles(["comfort", ""], 2, "component_")
    ['component_1 (comfort)', 'component_2']
    """
    return [component_title(names, k + 1, word) for k in range(n_components)]
