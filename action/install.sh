#!/usr/bin/env bash
# Makes .venv in the root of our own checkout from requirements/action.lock, unless the one there says that it has it.
# `python -I` ignores the current folder and PYTHONPATH, so the root is named in a .pth file.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lock=requirements/action.lock
digest=$(sha256sum "$lock" | cut -d' ' -f1)
if [ "$(cat .venv/.action-lock 2> /dev/null)" = "$digest" ]; then
  echo "up to date with $lock"
  exit 0
fi
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "installing bridge-e2e: found $(python3 --version 2>&1); expected Python 3.11 or newer. Next: use a newer runner image" >&2
  exit 2
fi
rm -rf .venv
python3 -m venv .venv
.venv/bin/pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r "$lock"
packages=$(.venv/bin/python -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
pwd > "$packages/bridge-e2e.pth"
echo "$digest" > .venv/.action-lock
