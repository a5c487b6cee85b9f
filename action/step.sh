#!/usr/bin/env bash
# Makes the runner's own venv next to our checkout, once, and runs one step in it. Everything comes from the environment.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$root/.venv
lock=$root/requirements/action.lock
python=${PYTHON:-python3}

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "bridge-e2e: making the runner's venv: found $("$python" --version 2>&1 || echo "no $python");" \
    "expected Python 3.11 or newer. Next: install it, or name it with the input 'python'" >&2
  exit 2
fi

# The mark names the lock that the venv was made from: a half-made or outdated one is made anew.
mark=$(sha256sum "$lock")
if [ "$(cat "$venv/made-from" 2>/dev/null || true)" != "${mark%% *}" ]; then
  rm -rf "$venv"
  "$python" -m venv "$venv"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
    --requirement "$lock"
  # Our own code is used where it was checked out; -I below ignores PYTHONPATH and the working directory.
  printf '%s\n' "$root" > "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/bridge_e2e.pth"
  printf '%s\n' "${mark%% *}" > "$venv/made-from"
fi

arguments=(--plan "$PLAN" --leg "$LEG" --out "$OUT")
if [ -n "${SITE:-}" ]; then arguments+=(--site "$SITE"); fi
exec "$venv/bin/python" -I -m action step "$STEP" "${arguments[@]}"
