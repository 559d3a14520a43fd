"""The report's leaderboard: win rates with intervals, and positions in each taste."""

import math
from typing import Any

from mallowmix.data.text import printable
from mallowmix.report import report_text as words
from mallowmix.report.contents import Contents

SHOWN, _FEW = 15, 3  # items that are shown unless asked; so few more are not folded away
_MOST_TASTES = 6  # whose positions are shown beside


def leaderboard_rows(found: Contents) -> dict[str, Any]:
    """The rows, the ends of their scale in percent, and the tastes whose positions are shown."""
    board = found.leaderboard
    known = not math.isnan(board.low[0])
    low, high = (board.low, board.high) if known else (board.win_rate, board.win_rate)
    begin = math.floor(20 * min(float(low.min()), 0.5)) / 20  # of 5 %
    end = max(math.ceil(20 * max(float(high.max()), 0.5)) / 20, begin + 0.05)
    by_share = [row["component"] for row in found.model.table()]
    tastes = by_share if found.better and len(by_share) <= _MOST_TASTES else []
    rows = [
        {
            "place": n + 1,
            "name": printable(item),
            "rate": words.rounded_percent(float(board.win_rate[n]), 1),
            "at": _on(float(board.win_rate[n]), begin, end),
            "left": _on(float(low[n]), begin, end),
            "width": round(_on(float(high[n]), begin, end) - _on(float(low[n]), begin, end), 2),
            "range": _span(int(board.rank_low[n]), int(board.rank_high[n])),
            "places": [int(board.component_positions[k - 1, n]) for k in tastes],
        }
        for n, item in enumerate(board.items.tolist())
    ]
    shown = len(rows) if len(rows) <= SHOWN + _FEW else SHOWN
    return {
        "first": rows[:shown],
        "rest": rows[shown:],
        "known": known,
        "tastes": tastes,
        "ends": (words.rounded_percent(begin), words.rounded_percent(end)),
        "half": _on(0.5, begin, end),
    }


def _on(rate: float, begin: float, end: float) -> float:
    """Where a rate is on the scale, in percent."""
    return round(100 * (rate - begin) / (end - begin), 2)


def _span(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low}–{high}"
