"""Everything that mallowmix raises or warns about.

    MallowmixError
    ├── DataError (ValueError)       the comparisons themselves: self-pairs, missing values, bad weights, unknown items
    ├── FileError                    a file that cannot be read or written
    │   └── ModelFileError           a model file that is truncated, altered, foreign, or from a newer version
    ├── OptionError (ValueError)     an option out of its range
    └── FitError (ValueError)        data that cannot support what was asked of it

    MallowmixWarning (UserWarning)
    ├── DataWarning                  the data can be used, but something in it limits the answer
    └── FitWarning                   the fit went on, but had to give way somewhere; says which knob to turn

Every message says where, what, and what now, in one sentence or two.
"""


class MallowmixError(Exception):
    """The root of every error raised on purpose by mallowmix."""


class DataError(MallowmixError, ValueError):
    """The comparisons themselves are not usable as they are."""


class FileError(MallowmixError):
    """A file cannot be read or written."""


class ModelFileError(FileError):
    """A model file is truncated, altered, foreign, or written by a newer version."""


class OptionError(MallowmixError, ValueError):
    """An option is out of its range."""


class FitError(MallowmixError, ValueError):
    """The data cannot support what was asked of it."""


class MallowmixWarning(UserWarning):
    """The root of every warning given by mallowmix."""


class DataWarning(MallowmixWarning):
    """The data can be used, but something in it limits the answer."""


class FitWarning(MallowmixWarning):
    """The fit went on, but had to give way somewhere."""


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise an OptionError unless `value` is one of `choices`."""
    if value not in choices:
        raise OptionError(
            f"{name} is {value!r}; it must be one of {', '.join(map(repr, choices))}."
        )


def check_at_least(name: str, value: float, least: float) -> None:
    """Raise an OptionError unless `value` is a number of at least `least`."""
    if not value >= least:
        raise OptionError(f"{name} is {value}; it must be at least {least}.")
