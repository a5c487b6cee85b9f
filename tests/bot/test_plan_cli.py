"""`plan` as a person or a script calls it."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from bot.explain import explain_on_terminal, printable
from bot.plan_cli import main
from levels import catalogue, rules

PEFT = "src/megatron/bridge/peft/lora.py"


def run(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    code = main(arguments, out=out, err=err, stdin=io.StringIO(stdin))
    return code, out.getvalue(), err.getvalue()


@pytest.mark.parametrize(
    ("stdin", "answer"),
    [
        pytest.param("docs/a.md\n", {"verl": [], "nemo-rl": []}, id="nothing"),
        pytest.param(f"{PEFT}\n", {"verl": [0, 1], "nemo-rl": [0, 1]}, id="levels-that-the-catalogue-lacks-too"),
        pytest.param(json.dumps([PEFT]), {"verl": [0, 1], "nemo-rl": [0, 1]}, id="json"),
    ],
)
def test_select_only(stdin: str, answer: dict[str, list[int]]) -> None:
    code, out, _ = run("--paths-from", "-", "--select-only", stdin=stdin)
    assert (code, json.loads(out)) == (0, answer)


def test_a_diff_narrows_what_a_path_says(tmp_path: Path) -> None:
    diff = tmp_path / "change.patch"
    diff.write_text(f"diff --git a/{PEFT} b/{PEFT}\n--- a/{PEFT}\n+++ b/{PEFT}\n@@ -1,2 +1,2 @@\n-# a\n+# b\n x = 1\n")
    code, out, _ = run("--paths-from", "-", "--diff", str(diff), "--select-only", stdin=PEFT)
    assert (code, json.loads(out)) == (0, {"verl": [], "nemo-rl": []})


def test_explain_names_rule_file_cost_and_what_is_skipped() -> None:
    _, out, _ = run("--paths-from", "-", "--explain", stdin=PEFT)
    assert "verl: level 0, level 1" in out
    assert f"rule adapters: {PEFT}: adapters are attached" in out
    assert "8 x 30 = 240 GPU-min" in out
    assert "family: any_dense" in out
    assert "rule no-rule: no changed path or line asks for it; needed when:" in out


def test_a_needed_level_that_cannot_run_is_loud() -> None:
    _, out, _ = run("--paths-from", "-", "--explain", stdin="3rdparty/Megatron-LM")
    missing = {(s, n) for s in ("verl", "NeMo-RL") for n in (1, 2, 4)} - {
        (level.suite.label, level.number) for level in catalogue.load().levels
    }
    assert ("NOT COVERED" in out) == bool(missing & {("verl", 1), ("verl", 2), ("NeMo-RL", 1), ("NeMo-RL", 4)})


def test_widening_is_loud() -> None:
    _, out, _ = run("--paths-from", "-", stdin="src/megatron/bridge/other/x.py")
    assert "WIDENED: no rule knows src/megatron/bridge/other/x.py" in out


def test_json_holds_every_level_with_reasons() -> None:
    _, out, _ = run("--paths-from", "-", "--json", stdin=PEFT)
    selection = json.loads(out)
    assert all(choice["reasons"] for choice in selection["chosen"] + selection["skipped"])


def test_a_terminal_gets_a_table_without_control_characters() -> None:
    out = io.StringIO()
    book = rules.load()
    explain_on_terminal(rules.select(["src/\x1b[31mred.py"], catalogue.load(), book), book, out)
    assert "MISSING" in out.getvalue() or "run" in out.getvalue()
    assert "\x1b[31mred" not in out.getvalue()
    assert printable("a\x1b\u202eb\n") == "a??b?"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="nothing"),
        pytest.param(["--repo", "."], id="half"),
        pytest.param(["--repo", ".", "--base", "a", "--head", "b", "--paths-from", "-"], id="both"),
        pytest.param(["--paths-from", "/nonexistent"], id="no-file"),
    ],
)
def test_options_that_make_no_sense(arguments: list[str]) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert "Next:" in err


def test_the_command_starts_isolated(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[2])
    start = f"import sys; sys.path.insert(0, {root!r}); from bot.plan_cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-I", "-c", start, "--paths-from", "-", "--select-only"],
        input=PEFT,
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, json.loads(done.stdout)) == (0, {"verl": [0, 1], "nemo-rl": [0, 1]})
