"""Two models side by side, against changes made by hand."""

import json

import numpy as np
import pytest

import mallowmix as mm
from mallowmix.errors import DataError
from mallowmix.model.model_file import save
from tests.command_line import run
from tests.planted import planted

OLD = mm.M4.from_orders(["abcdef", "fedcba"], phi=[0.2, 0.3], alpha=[0.6, 0.4])


def test_identical_models_say_so_whatever_their_numbering():
    assert (
        mm.compare_models(OLD, OLD).identical
        and mm.compare_models(OLD, OLD).words() == "The two models are identical."
    )
    turned = mm.M4.from_orders(["fedcba", "abcdef"], phi=[0.3, 0.2], alpha=[0.4, 0.6])
    assert mm.compare_models(OLD, turned).identical
    assert [(couple.old, couple.new) for couple in mm.compare_models(OLD, turned).couples] == [
        (1, 2),
        (2, 1),
    ]


@pytest.mark.parametrize(("phi", "alpha"), [([0.2, 0.31], [0.6, 0.4]), ([0.2, 0.3], [0.6, 0.5])])
def test_a_change_of_phi_or_alpha_is_a_change(phi, alpha):
    changes = mm.compare_models(OLD, mm.M4.from_orders(["abcdef", "fedcba"], phi=phi, alpha=alpha))
    assert not changes.identical and changes.kendall == 0 and "the same ranking" in changes.words()


def test_a_moved_item():
    """Moving f from place 6 to 1 turns five of the 15 pairs around."""
    changes = mm.compare_models(
        OLD, mm.M4.from_orders(["fabcde", "fedcba"], phi=[0.2, 0.3], alpha=[0.5, 0.5])
    )
    first = changes.couples[0]
    assert first.kendall == pytest.approx(5 / 15)
    assert (first.moved[0].item, first.moved[0].old_position, first.moved[0].new_position) == (
        "f",
        6,
        1,
    )
    assert (first.old_share, first.new_share) == (0.6, 0.5)
    assert (
        "33.3 % of the pairs in different order" in changes.words() and "f 6 → 1" in changes.words()
    )


def test_other_numbers_of_components_and_other_items():
    new = mm.M4.from_orders(["abcdxf", "fxdcba", "cabfdx"], phi=0.2)
    changes = mm.compare_models(OLD, new)
    assert changes.only_new == (3,) and changes.only_old == ()
    assert changes.items_only_old == ("e",) and changes.items_only_new == ("x",)
    assert [couple.kendall for couple in changes.couples] == [0, 0]
    assert "Component 3 of the new model is new." in changes.words()
    assert "Only in the old model: e (1 of its items)." in changes.words()
    assert mm.compare_models(new, OLD).only_old == (3,)


def test_distances_do_not_depend_on_the_order_of_items():
    one, other = planted(7, 2, seed=1), planted(7, 2, seed=2)
    turn = np.random.default_rng(0).permutation(7)
    shuffled = mm.M4(other.sigma[:, turn], other.phi, other.alpha, other.items[turn])
    assert mm.compare_models(one, other).to_dict() == mm.compare_models(one, shuffled).to_dict()


def test_too_little_in_common():
    with pytest.raises(
        DataError, match="The models have 1 items in common; at least two are needed"
    ):
        mm.compare_models(OLD, mm.M4.from_orders(["axyz"]))


def test_the_command(tmp_path):
    save(OLD, tmp_path / "old.m4")
    save(
        mm.M4.from_orders(["fabcde", "fedcba"], phi=[0.2, 0.3], alpha=[0.5, 0.5]),
        tmp_path / "new.m4",
    )
    assert "f 6 → 1" in run("compare-models", tmp_path / "old.m4", tmp_path / "new.m4")[0]
    assert (
        run("compare-models", tmp_path / "old.m4", tmp_path / "old.m4")[0]
        == "The two models are identical.\n"
    )
    values = json.loads(
        run("compare-models", tmp_path / "old.m4", tmp_path / "new.m4", "--json")[0]
    )
    assert values["couples"][0]["moved"][0]["item"] == "f" and not values["identical"]
