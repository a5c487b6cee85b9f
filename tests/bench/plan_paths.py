"""Times the rules: `python tests/bench/plan_paths.py` selects for 3,000 paths; the limit is 200 ms."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from levels import catalogue, rules
from levels.rulebook import RuleSet

LIMIT_SECONDS = 0.2
FOLDERS = ("docs", "tests/unit_tests", "src/megatron/bridge/models", "src/megatron/bridge/training/utils", "src/other")


def main() -> int:
    """1 when it takes longer than the limit."""
    book, levels = rules.load(), catalogue.load()
    paths = [f"{FOLDERS[n % len(FOLDERS)]}/family_{n}/modeling_{n}/file_{n}_bridge.py" for n in range(3_000)]
    best = min(timed(paths, book, levels) for _ in range(5))
    owners = len(book.rules.paths) + len(book.rules.together) + len(book.rules.content) + len(book.rules.families)
    print(f"3000 paths x {owners} rules and families: {best * 1000:.0f} ms, limit {LIMIT_SECONDS * 1000:.0f} ms")
    return int(best > LIMIT_SECONDS)


def timed(paths: list[str], book: RuleSet, levels: catalogue.Catalogue) -> float:
    """Seconds of one selection."""
    start = time.perf_counter()
    rules.select(paths, levels, book)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
