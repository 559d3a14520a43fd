"""What the source promises about options and messages: read off its syntax trees."""

import ast
from pathlib import Path

import pytest

import mallowmix

SOURCE = Path(mallowmix.__file__).parent
MODULES = {
    path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
    for path in SOURCE.rglob("*.py")
}
# public functions that may take **keywords: they override a method of click that does
OPEN_ENDED = {("cli/commands.py", "main")}
# an OptionError that is about no option would be named here, with the reason; there is none
WITHOUT_OPTION: set[tuple[str, int]] = set()
RAISED = (
    "MallowmixError",
    "DataError",
    "FileError",
    "ModelFileError",
    "OptionError",
    "FitError",
    "MallowmixWarning",
    "DataWarning",
    "FitWarning",
)


def public_functions(tree):
    """Functions of a module and methods of its classes, nested functions and private names left
    out.
    """
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) and node.name[0] != "_" else [node]
        for function in inner:
            is_function = isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            if is_function and not function.name.startswith("_"):
                yield function


def calls(tree, *names):
    """Calls of these names, however they are reached."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "id", getattr(node.func, "attr", None))
            if name in names:
                yield node


def test_no_public_function_takes_options_that_help_does_not_show():
    found = {
        (name, function.name)
        for name, tree in MODULES.items()
        for function in public_functions(tree)
        if function.args.kwarg is not None
    }
    assert found == OPEN_ENDED


@pytest.mark.slow
def test_every_option_error_says_which_option():
    found = {
        (name, call.lineno)
        for name, tree in MODULES.items()
        if name != "errors.py"
        for call in calls(tree, "OptionError")
        if "option" not in {keyword.arg for keyword in call.keywords}
    }
    assert found == WITHOUT_OPTION


@pytest.mark.slow
def test_a_warning_is_given_as_an_object_so_that_its_parts_survive():
    """`warnings.warn("text", DataWarning)` would flatten the options in it to text."""
    found = [
        (name, call.lineno)
        for name, tree in MODULES.items()
        for call in calls(tree, "warn")
        if any(getattr(each, "id", None) in RAISED for each in call.args[1:])
    ]
    assert found == []


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("cli/")])
def test_the_command_line_rewrites_no_text(name):
    """Only a model file's name is made with a regular expression, out of the data's name."""
    imported = {
        alias.name
        for node in ast.walk(MODULES[name])
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert "re" not in imported or name == "cli/fit.py"


def texts(call):
    """The pieces of text among the positional arguments of a call."""
    for argument in call.args:
        for node in ast.walk(argument):
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "Option":
                break
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


@pytest.mark.slow
def test_no_message_of_the_library_is_in_the_words_of_the_command_line():
    """An option is named by `Option`, which each reader sees in their own form."""
    found = [
        (name, call.lineno, text)
        for name, tree in MODULES.items()
        if not name.startswith("paper/")
        for call in calls(tree, *RAISED)
        for text in texts(call)
        if " --" in text or text.startswith("--")
    ]
    assert found == []
