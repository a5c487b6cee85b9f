"""Writes a small data set with pictures under the names that the trainer reads."""

import argparse
import json
from pathlib import Path


def rows(count, offset):
    for n in range(offset, offset + count):
        yield {
            "prompt": f"<image>How many sides has a polygon of {n} corners?",
            "images": [f"polygon-{n}"],
            "answer": str(n),
        }


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_save_dir", required=True)
    target = Path(parser.parse_args().local_save_dir)
    target.mkdir(parents=True, exist_ok=True)
    for name, count, offset in (("train", 256, 0), ("test", 32, 1000)):
        lines = [json.dumps(row) for row in rows(count, offset)]
        (target / f"{name}.parquet").write_text("\n".join(lines) + "\n")
        print(f"{name}: {count} rows in {target}")
