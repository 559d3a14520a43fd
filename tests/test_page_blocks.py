"""The blocks, commands and output of a page are found; wrong output is noticed."""

from tools.page_blocks import (
    Block,
    Command,
    blocks,
    commands,
    missing_output,
    words_without_a_shell,
)


def test_blocks_are_found_with_their_lines():
    page = (
        "a\n```python\nx = 1\n```\nb\n\n```console\n$ mallowmix --version\nmallowmix 0.1.0\n"
        "```\n````text\n```python\n```\n````\n"
    )
    assert blocks(page) == [
        Block("python", "x = 1\n", 3),
        Block("console", "$ mallowmix --version\nmallowmix 0.1.0\n", 8),
        Block("text", "```python\n```\n", 12),
    ]


def test_commands_are_told_from_output():
    assert commands("$ mallowmix --version\n mallowmix 0.1.0\n…\n$ make demo\n") == [
        Command("mallowmix --version", ("mallowmix 0.1.0",)),
        Command("make demo"),
    ]
    assert commands("# first\nmake demo\n\nmallowmix fit \\\n  a.csv -k 2\n") == [
        Command("make demo"),
        Command("mallowmix fit a.csv -k 2"),
    ]


def test_output_that_a_command_does_not_print_is_noticed():
    printed = "  1 │ pizza  │ 63.9 %\nWrote model.m4.\n1,234 comparisons\n"
    shown = ("1 │ pizza │ 63.7 %", "Wrote model.m4.", "1,234 comparisons", "1,234 comp…", "Wrote …")
    assert missing_output(shown, printed) == []
    wrong = ("1 │ pizza │ 54.0 %", "2 │ pizza │ 63.9 %", "1 │ ramen │ 63.9 %", "Wrote", "9 comp…")
    assert missing_output(wrong, printed) == list(wrong)


def test_commands_that_need_a_shell_are_told_from_others():
    assert words_without_a_shell("mallowmix check 'a-*.csv' -k 2  # all") == [
        *("mallowmix", "check", "a-*.csv", "-k", "2")
    ]
    for text in ("show a > b", "show a | wc", "show a-*.m4", "show $HOME", 'show "$HOME"', "a; b"):
        assert words_without_a_shell(f"mallowmix {text}") is None
