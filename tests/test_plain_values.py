"""Values of the command line are converted as typer converts them, without pydantic."""

from types import SimpleNamespace

import pytest
import typer

from mallowmix.cli import app
from mallowmix.cli.plain_values import LEFT_TO_TYPER, convert_plainly, plain_value

COMMAND = typer.main.get_command(app)
PARAMS = [
    pytest.param(param, id=f"{name} {param.name}")
    for name, command in COMMAND.commands.items()
    for param in command.params
]
USED = hasattr(PARAMS[0].values[0], "type_descriptor")
WORDS = ("", "3", "-1", "2.5", "nan", "auto", "1-4,8", "a=b", "half", "error", "no such file", ".")


def by_typer(param, value):
    """What typer makes of a value: it, or the kind of error."""
    try:
        with typer.Context(COMMAND) as context:
            return type(param).process_value(param, context, value)
    except Exception as error:
        return type(error)


def by_us(param, value):
    try:
        return plain_value(param, value)
    except Exception as error:
        return type(error)


@pytest.mark.skipif(not USED, reason="this version of typer does not use pydantic")
class TestAsTyper:
    @pytest.mark.parametrize("param", PARAMS)
    def test_what_is_converted_is_what_typer_makes_of_it(self, param):
        several = param.nargs != 1 or getattr(param, "multiple", False)
        words = (
            [[word] for word in WORDS] + [list(WORDS[:2])] if several else [*WORDS, param.default]
        )
        for value in (*words, None):
            ours = by_us(param, value)
            if ours is not LEFT_TO_TYPER:
                theirs = by_typer(param, value)
                assert ours == theirs and type(ours) is type(theirs), value

    def test_defaults_need_no_typer(self):
        defaults = [(p.values[0], p.values[0].default) for p in PARAMS if not p.values[0].required]
        assert not [p.name for p, default in defaults if by_us(p, default) is LEFT_TO_TYPER]

    def test_what_is_wrong_is_left_to_typer(self):
        rank = {param.name: param for param in COMMAND.commands["rank"].params}
        assert plain_value(rank["model"], None) is LEFT_TO_TYPER  # it must be given
        assert plain_value(rank["model"], 3) is LEFT_TO_TYPER

    def test_a_path_that_cannot_be_read_is_left_to_typer(self, tmp_path, monkeypatch):
        model = next(p for p in COMMAND.commands["show"].params if p.name == "model")
        monkeypatch.setattr("os.access", lambda *_: False)
        assert plain_value(model, str(tmp_path)) is LEFT_TO_TYPER
        assert plain_value(model, str(tmp_path / "absent")) == tmp_path / "absent"

    def test_a_path_of_which_more_is_asked_is_left_to_typer(self, tmp_path):
        model = next(p for p in COMMAND.commands["show"].params if p.name == "model")
        about = vars(model.type_descriptor.parameter_info)
        for asked in ("exists", "writable", "resolve_path", "allow_dash"):
            changed = SimpleNamespace(**about | {asked: True})
            param = SimpleNamespace(
                type_descriptor=SimpleNamespace(
                    annotation=model.type_descriptor.annotation, parameter_info=changed
                ),
                nargs=1,
            )
            assert plain_value(param, str(tmp_path)) is LEFT_TO_TYPER


def test_a_parameter_of_another_typer_stays_as_it_is():
    param = SimpleNamespace(callback=None)
    assert convert_plainly(param) is param and vars(param) == {"callback": None}
