"""Evaluates conditions on metrics.json and prints a table."""

import json
import statistics
import sys
from pathlib import Path


class Series(dict):
    """Step to value; min and max go over the values."""

    def __iter__(self):
        return iter(self.values())


def rule(left, middle, right, line, widths):
    print(left + middle.join(line * (width + 2) for width in widths) + right)


def mean(series):
    return statistics.mean(series.values())


def median(series):
    return statistics.median(series.values())


names = {"min": min, "max": max, "mean": mean, "median": median}
data = {name: Series(series) for name, series in json.loads(Path(sys.argv[1]).read_text()).items()}
rows = []
for check in sys.argv[2:]:
    try:
        holds = eval(check, {"data": data, **names})
        value, message = str(eval(check.split(" < ")[0].split(" > ")[0], {"data": data, **names})), ""
        if not holds:
            message = f"{check} (condition evaluated to False)"
    except KeyError as error:
        holds, value, message = False, "", f"KeyError: {error}"
    rows.append(("PASS" if holds else "FAIL", check, value, message))
titles = ("Status", "Check", "Value", "Message")
widths = [max(len(row[column]) for row in (titles, *rows)) for column in range(4)]
print(f"{'Metric Checks':^{sum(widths)}}")
rule("┏", "┳", "┓", "━", widths)
print("┃" + "┃".join(f" {title:<{width}} " for title, width in zip(titles, widths, strict=True)) + "┃")
rule("┡", "╇", "┩", "━", widths)
for row in rows:
    print("│" + "│".join(f" {cell:<{width}} " for cell, width in zip(row, widths, strict=True)) + "│")
rule("└", "┴", "┘", "─", widths)
sys.exit(any(row[0] == "FAIL" for row in rows))
