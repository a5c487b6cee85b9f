"""Event files to one JSON file: metric to step to value."""

import argparse
import json
import sys
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("log_dir")
parser.add_argument("--output_path", required=True)
arguments = parser.parse_args()
files = sorted(Path(arguments.log_dir).rglob("events.out.tfevents.*"))
if not files:
    sys.exit(f"Error: No TensorBoard event files found under {arguments.log_dir}")
print("Processing event files...")
merged = {}
for path in files:
    print(f"Processing {path.name}")
    for line in path.read_text().splitlines():
        event = json.loads(line)
        for name, value in event["metrics"].items():
            merged.setdefault(name, {})[str(event["step"])] = value
print("\nMetrics Summary:")
for name, series in merged.items():
    print(f"{name}\n  Steps: {len(series)} (min: {min(series)}, max: {max(series)})")
Path(arguments.output_path).write_text(json.dumps(merged, indent=2))
print(f"✓ Merged data written to {arguments.output_path}")
