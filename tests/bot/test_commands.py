import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.commands import (
    GRAMMAR,
    MAX_COMMANDS,
    Cancel,
    Command,
    CommandError,
    Explain,
    Help,
    Rerun,
    RunE2E,
    Waive,
    parse,
    text_of,
    usage,
)
from levels.model import Suite

SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("line", "command"),
    [
        pytest.param("/run-e2e", RunE2E(), id="plain"),
        pytest.param("/run-e2e suite=verl", RunE2E(suite=Suite.VERL), id="suite"),
        pytest.param("/run-e2e level=2", RunE2E(levels=(2,)), id="level"),
        pytest.param("/run-e2e level=2,0", RunE2E(levels=(0, 2)), id="levels"),
        pytest.param("/run-e2e level=0-2", RunE2E(levels=(0, 1, 2)), id="range"),
        pytest.param("/run-e2e level=all", RunE2E(all_levels=True), id="all"),
        pytest.param("/run-e2e model=Qwen/Qwen3-0.6B", RunE2E(model="Qwen/Qwen3-0.6B"), id="model"),
        pytest.param(f"/run-e2e sha={SHA}", RunE2E(sha=SHA), id="sha"),
        pytest.param(f"/run-e2e sha={SHA.upper()}", RunE2E(sha=SHA), id="sha-upper-case"),
        pytest.param("/run-e2e dry-run force", RunE2E(dry_run=True, force=True), id="flags"),
        pytest.param("  /run-e2e\tlevel=1\u00a0force ", RunE2E(levels=(1,), force=True), id="any-white-space"),
        pytest.param("/run-e2e explain", Explain(), id="explain"),
        pytest.param("/run-e2e rerun", Rerun(failed=False), id="rerun"),
        pytest.param("/run-e2e rerun failed", Rerun(failed=True), id="rerun-failed"),
        pytest.param("/run-e2e cancel", Cancel(), id="cancel"),
        pytest.param("/run-e2e help", Help(), id="help"),
        pytest.param(
            '/run-e2e waive suite=nemo-rl level=2 reason="known upstream bug"',
            Waive(suite=Suite.NEMO_RL, level=2, reason="known upstream bug"),
            id="waive",
        ),
        pytest.param(
            "/run-e2e waive suite=verl level=0 reason=“typed on a phone”",
            Waive(suite=Suite.VERL, level=0, reason="typed on a phone"),
            id="curly-quotes",
        ),
    ],
)
def test_a_command(line: str, command: Command) -> None:
    assert parse(f"Thanks!\n\n{line}\n\nMore prose.") == (command,)


@pytest.mark.parametrize(
    ("line", "problem", "suggestion"),
    [
        pytest.param("/run-e2e suit=verl", "unknown word: suit=verl", "/run-e2e suite=verl", id="key"),
        pytest.param("/run-e2e suite=nemo", "suite=nemo", "/run-e2e suite=nemo-rl", id="suite"),
        pytest.param("/run-e2e explaim", "explaim", "/run-e2e explain", id="word"),
        pytest.param("/run-e2e --dry-run", "--dry-run", "/run-e2e dry-run", id="dashes"),
        pytest.param("/rune2e level=2", "/rune2e", "/run-e2e level=2", id="name"),
        pytest.param("/run_e2e", "/run_e2e", "/run-e2e", id="underscore"),
        pytest.param("/RUN-E2E", "/RUN-E2E", "/run-e2e", id="capitals"),
        pytest.param("/run-\u04352e", "/run-\u04352e", "/run-e2e", id="cyrillic-e"),
        pytest.param("/run-e2e level=2-0", "goes up", None, id="range-that-goes-down"),
        pytest.param("/run-e2e level=10", "level=10", None, id="two-digits"),
        pytest.param("/run-e2e level=٢", "level=٢", None, id="arabic-digit"),
        pytest.param("/run-e2e level=", "level=", None, id="no-value"),
        pytest.param("/run-e2e level", "level", None, id="key-without-value"),
        pytest.param("/run-e2e force=yes", "force=yes", None, id="value-for-a-flag"),
        pytest.param("/run-e2e level=1 level=2", "twice", None, id="twice"),
        pytest.param(f"/run-e2e sha={SHA[:12]}", "all 40 hex digits", None, id="abbreviated-sha"),
        pytest.param(f"/run-e2e sha={SHA}0", "all 40 hex digits", None, id="longer-sha"),
        pytest.param("/run-e2e model=../../etc/passwd", "model=", None, id="model-path"),
        pytest.param("/run-e2e waive suite=verl level=1", "reason missing", None, id="waive-without-a-reason"),
        pytest.param('/run-e2e waive suite=verl level=1 reason="no"', "10 to 500", None, id="short-reason"),
        pytest.param('/run-e2e waive suite=verl level=all reason="long enough"', "one level", None, id="waive-all"),
        pytest.param("/run-e2e `level=1`", "plain text", None, id="code-in-the-line"),
        pytest.param("/run-e2e [level=1](http://x.y)", "plain text", None, id="link-in-the-line"),
        pytest.param("/run-e2e <b>force</b>", "plain text", None, id="html-in-the-line"),
    ],
)
def test_a_typo_is_answered(line: str, problem: str, suggestion: str | None) -> None:
    (error,) = parse(line)
    assert isinstance(error, CommandError)
    assert problem in error.problem
    if suggestion is not None:
        assert error.suggestion == suggestion
        assert not isinstance(parse(suggestion)[0], CommandError)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("", id="empty"),
        pytest.param("LGTM, thanks!", id="prose"),
        pytest.param("Use `/run-e2e` to start", id="inline-code"),
        pytest.param("`/run-e2e`", id="code-alone"),
        pytest.param("```\n/run-e2e\n```", id="fence"),
        pytest.param("~~~\n/run-e2e", id="open-fence"),
        pytest.param("    /run-e2e", id="indented-code"),
        pytest.param("> /run-e2e", id="quote"),
        pytest.param("> quoted\n/run-e2e", id="lazy-quote"),
        pytest.param("<!-- /run-e2e -->", id="comment"),
        pytest.param("<!--\n/run-e2e\n-->", id="comment-over-lines"),
        pytest.param("<!--\n/run-e2e", id="open-comment"),
        pytest.param("text <!--\n/run-e2e\n--> text", id="inline-comment"),
        pytest.param("<div>\n/run-e2e\n</div>", id="html-block"),
        pytest.param("[a\n/run-e2e\nb](http://x.y)", id="link-text"),
        pytest.param("![a\n/run-e2e\nb](http://x.y)", id="image-text"),
        pytest.param("[/run-e2e]: http://x.y", id="link-definition"),
        pytest.param("- /run-e2e", id="list"),
        pytest.param("# /run-e2e", id="heading"),
        pytest.param("please /run-e2e now", id="inside-a-line"),
        pytest.param("| a |\n|---|\n| /run-e2e |", id="table"),
        pytest.param("/ok to test", id="another-bots-command"),
        pytest.param("/run-tests all", id="yet-another-bots-command"),
        pytest.param("/retest", id="retest"),
    ],
)
def test_what_is_no_command(body: str) -> None:
    assert parse(body) == ()


def test_several_commands_keep_their_order() -> None:
    assert parse("/run-e2e help\ntext\n/run-e2e explain\n\n/run-e2e level=0") == (
        Help(),
        Explain(),
        RunE2E(levels=(0,)),
    )


def test_a_flood_is_cut_with_a_word() -> None:
    results = parse("/run-e2e\n" * 500)
    assert len(results) == MAX_COMMANDS + 1
    assert isinstance(results[-1], CommandError)


@pytest.mark.parametrize("form", GRAMMAR, ids=lambda form: form.word or "run")
def test_the_help_shows_every_form(form: object) -> None:
    assert getattr(form, "usage") in usage()  # noqa: B009 - pytest's ids need the object


@pytest.mark.parametrize(
    "command",
    [
        RunE2E(suite=Suite.VERL, levels=(0, 2), model="a/b", sha=SHA, dry_run=True, force=True),
        RunE2E(all_levels=True),
        Explain(),
        Rerun(failed=True),
        Cancel(),
        Help(),
        Waive(suite=Suite.VERL, level=1, reason="a known upstream bug"),
    ],
    ids=lambda command: type(command).__name__,
)
def test_the_normalized_text_is_the_same_command(command: Command) -> None:
    assert parse(text_of(command)) == (command,)


@given(st.text(max_size=300))
def test_any_comment_is_read(body: str) -> None:
    parse(body)


@given(st.text(alphabet=st.characters(exclude_characters="\n\r`<[!*_~\\&"), max_size=60))
def test_any_rest_of_a_line_gives_one_answer(rest: str) -> None:
    assert len(parse(f"/run-e2e {rest}")) <= 1


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("[" * 60_000, id="brackets"),
        pytest.param("[a](" * 15_000, id="links"),
        pytest.param("*a " * 20_000, id="stars"),
        pytest.param(">" * 60_000, id="quotes"),
        pytest.param("<!--" * 15_000, id="comments"),
        pytest.param("`a``b" * 12_000, id="backticks"),
        pytest.param('x="' * 20_000, id="quotes-in-words"),
        pytest.param("a=b " * 15_000, id="words"),
    ],
)
def test_a_hostile_comment_takes_no_time(body: str) -> None:
    start = time.process_time()
    parse(f"/run-e2e {body}")
    assert time.process_time() - start < 8
