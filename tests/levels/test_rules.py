"""The rules: loading, the pattern table, what lines add, what doubt adds."""

from importlib.resources import files
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from levels import catalogue, rules
from levels.changes import Change, Status, Unit
from levels.errors import ConfigError
from levels.model import Suite
from levels.plan import NOT_IN_CATALOGUE, Selection
from levels.rulebook import ContentRule, PathRule, RuleSet, TogetherRule

BOOK = rules.load()
LEVELS = catalogue.load()
TEXT = (files("levels") / "rules.yaml").read_text(encoding="utf-8")
S = "src/megatron/bridge/"
FIXTURE = Path(__file__).parents[1] / "fixtures" / "labelled_changes.jsonl"


def select(*changes: Change | str, doubts: tuple[str, ...] = ()) -> Selection:
    return rules.select(changes, LEVELS, BOOK, doubts=doubts)


def numbers(selection: Selection) -> tuple[list[int], list[int]]:
    return list(selection.required(Suite.VERL)), list(selection.required(Suite.NEMO_RL))


def lines(path: str, scope: str, *text: str, status: Status = Status.MODIFIED) -> Change:
    return Change(path=S + path, status=status, units=(Unit(scope=scope, lines=text),))


@pytest.mark.parametrize(
    ("path", "verl", "nemo_rl"),
    [
        pytest.param("3rdparty/Megatron-LM", [0, 1, 2], [0, 1, 4], id="core-library"),
        pytest.param(".github/workflows/verl_ci/run_x.sh", [], [], id="weekly"),
        pytest.param("docs/a.md", [], [], id="docs"),
        pytest.param("examples/a.py", [], [], id="examples"),
        pytest.param(".main.commit", [], [], id="pin-note"),
        pytest.param("uv.lock", [], [], id="lock"),
        pytest.param(S + "recipes/a.py", [], [], id="recipes"),
        pytest.param(S + "data/a.py", [], [], id="data"),
        pytest.param(S + "models/qwen_vl/data/collate_fn.py", [], [], id="model-data"),
        pytest.param(S + "training/vlm_step.py", [], [], id="step"),
        pytest.param(S + "models/conversion/quant_mapping.py", [0, 1, 4], [0, 2, 5], id="quant-mapping"),
        pytest.param(S + "models/conversion/modelopt_utils.py", [], [0, 2, 5], id="modelopt"),
        pytest.param(S + "models/conversion/quant_bridge.py", [], [], id="quant-bridge"),
        pytest.param(S + "models/conversion/peft_bridge.py", [0, 1], [0, 1], id="peft-bridge"),
        pytest.param(S + "models/conversion/auto_bridge.py", [0, 1], [0], id="auto-bridge"),
        pytest.param(S + "models/conversion/param_mapping.py", [0, 1], [0, 2], id="param-mapping"),
        pytest.param(S + "models/hf_pretrained/state.py", [0, 1], [0], id="hf-pretrained"),
        pytest.param(S + "models/transformer_config.py", [0, 2], [0, 4], id="finalization"),
        pytest.param(S + "models/gpt_provider.py", [0], [0], id="provider"),
        pytest.param(S + "models/qwen_vl/qwen3_vl_bridge.py", [0, 1, 4], [0, 2, 5], id="vlm-bridge"),
        pytest.param(S + "models/qwen_vl/modelling_qwen3_vl/rope.py", [0, 4], [0, 5], id="vlm"),
        pytest.param(S + "models/deepseek/deepseek_v3_bridge.py", [0, 1, 4], [0, 2, 5], id="moe-bridge"),
        pytest.param(S + "models/stepfun/step35_provider.py", [0, 4], [0, 5], id="moe-provider"),
        pytest.param(S + "models/falcon_h1/modeling_falconh1/layer.py", [0, 4], [0, 5], id="custom-layers"),
        pytest.param(S + "models/llama/llama_bridge.py", [0, 1], [0, 2], id="dense-bridge"),
        pytest.param(S + "models/llama/llama4_utils.py", [0], [0], id="dense-other"),
        pytest.param(S + "models/brand_new/brand_new_bridge.py", [0, 1], [0, 2], id="unheard-of-family"),
        pytest.param(S + "peft/lora.py", [0, 1], [0, 1], id="peft"),
        pytest.param(S + "peft/multi_lora.py", [], [], id="multi-lora"),
        pytest.param(S + "training/checkpointing.py", [], [0, 1], id="resume"),
        pytest.param(S + "training/post_training/checkpointing.py", [], [0, 1, 5], id="quant-state"),
        pytest.param(S + "training/fsdp_compat.py", [0, 3], [0], id="fsdp"),
        pytest.param(S + "training/utils/packed_seq_utils.py", [], [0, 4], id="context-split"),
        pytest.param(S + "training/flex_dispatcher_backend.py", [], [0, 4, 5], id="dispatcher"),
        pytest.param(S + "training/config.py", [], [0], id="config"),
        pytest.param(S + "training/train.py", [], [], id="trainer"),
        pytest.param("Makefile", [], [], id="outside-the-package"),
    ],
)
def test_the_pattern_table(path: str, verl: list[int], nemo_rl: list[int]) -> None:
    assert numbers(select(path)) == (verl, nemo_rl)
    assert select(path).widened == ()


def test_a_new_family_of_experts_needs_the_parallel_levels() -> None:
    both = select(S + "models/__init__.py", S + "models/hy_v3/hy_v3_bridge.py")
    assert numbers(both) == ([0, 1, 2, 4], [0, 2, 4, 5])


def test_a_rename_counts_under_both_names() -> None:
    moved = Change(path="docs/lora.py", previous_path=S + "peft/lora.py", status=Status.RENAMED, units=())
    assert numbers(select(moved)) == ([0, 1], [0, 1])


def test_a_deletion_counts() -> None:
    gone = Change(path=S + "peft/lora.py", status=Status.REMOVED, units=(Unit(scope="LoRA", lines=("x",)),))
    assert numbers(select(gone)) == ([0, 1], [0, 1])


@pytest.mark.parametrize(
    ("change", "verl", "nemo_rl"),
    [
        pytest.param(Change(path=S + "peft/lora.py", status=Status.MODIFIED, units=()), [], [], id="comments-only"),
        pytest.param(lines("peft/lora.py", "<imports>", "import x"), [0], [0], id="import"),
        pytest.param(lines("training/checkpointing.py", "<imports>", "import x"), [], [0], id="import-of-one-suite"),
        pytest.param(lines("models/llama/llama_bridge.py", "B.provider_bridge", "p.x = 1"), [0], [0], id="settings"),
        pytest.param(
            lines("models/llama/llama_bridge.py", "B.provider_bridge", "p.moe_x = 1"),
            [0, 4],
            [0, 5],
            id="expert-settings",
        ),
        pytest.param(lines("models/llama/llama_bridge.py", "B.megatron_to_hf_config", "x"), [], [], id="config-back"),
        pytest.param(
            lines("models/conversion/param_mapping.py", "M.hf_to_megatron", "y = x"), [0], [0], id="weights-read"
        ),
        pytest.param(
            lines("models/conversion/param_mapping.py", "M.megatron_to_hf", "y = self.pp_rank"),
            [0, 1, 2],
            [0, 2, 4],
            id="pipeline-export",
        ),
        pytest.param(
            lines("models/conversion/param_mapping.py", "AutoMapping", '"InferenceTopKRouter",'),
            [],
            [0, 3],
            id="inference",
        ),
        pytest.param(
            lines("models/conversion/auto_bridge.py", "AutoBridge.save_hf_weights", "x"), [0, 1], [], id="verl-saves"
        ),
        pytest.param(lines("models/conversion/auto_bridge.py", "AutoBridge.?", "x"), [0, 1], [0], id="unknown-method"),
        pytest.param(
            lines("peft/utils.py", "GroupedExpertLinearAdapter.forward", "x.allreduce = 1"),
            [0, 1, 4, 5],
            [],
            id="one-suite-only",
        ),
        pytest.param(lines("training/setup.py", "setup", "x"), [], [], id="library-setup"),
        pytest.param(lines("training/optim.py", "setup_optimizer", "x"), [], [0, 1, 6], id="optimizer"),
        pytest.param(lines("training/utils/train_utils.py", "make_value_model", "x"), [0], [0], id="value-head"),
        pytest.param(lines("peft/multi_lora.py", "X", "sequence_parallel"), [], [], id="nothing-to-add-to"),
        pytest.param(
            lines("models/qwen_vl/modeling_qwen25_vl.py", "M.forward", "scatter_to_sequence_parallel_region(x)"),
            [0, 2, 4],
            [0, 4, 5],
            id="sequence-parallel",
        ),
    ],
)
def test_what_lines_say(change: Change, verl: list[int], nemo_rl: list[int]) -> None:
    assert numbers(select(change)) == (verl, nemo_rl)


def test_an_unknown_source_path_widens_and_says_so() -> None:
    selection = select(S + "brand_new_package/a.py")
    assert numbers(selection) == ([0, 1, 2, 4], [0, 1, 2, 4, 5])
    assert selection.widened == (f"no rule knows {S}brand_new_package/a.py",)


def test_an_unreadable_patch_asks_for_all_that_its_lines_could_have_said() -> None:
    path = S + "models/conversion/param_mapping.py"
    selection = select(Change(path=path, status=Status.MODIFIED, doubt="cut off"))
    assert set(numbers(select(path))[0]) < set(selection.required(Suite.VERL))
    assert "cut off" in selection.widened[0]


def test_a_hostile_number_of_doubts_stays_small() -> None:
    assert len(select(*(f"src/{n}.py" for n in range(500))).widened) == 21


def test_an_unreadable_patch_of_a_document_changes_nothing() -> None:
    assert numbers(select(Change(path="docs/a.md", doubt="binary change"))) == ([], [])


def test_a_list_that_may_be_cut_off_widens() -> None:
    assert select(*(f"docs/{n}.md" for n in range(3_000))).widened
    assert numbers(select("docs/a.md", doubts=("the API failed",))) == ([0, 1, 2, 4], [0, 1, 2, 4, 5])


def test_a_change_without_files_selects_nothing() -> None:
    selection = select()
    assert numbers(selection) == ([], [])
    assert {reason.rule for choice in selection.skipped for reason in choice.reasons} == {"empty-change"}


def test_level_zero_is_implied(tmp_path: Path) -> None:
    text = TEXT.replace("    verl: [0, 1, 2]\n", "    verl: [2]\n", 1)
    book = book_of(text, tmp_path)
    assert rules.select(["3rdparty/Megatron-LM"], LEVELS, book).required(Suite.VERL) == (0, 2)


def book_of(text: str, folder: Path) -> RuleSet:
    (folder / "rules.yaml").write_text(text, encoding="utf-8")
    return rules.load(folder)


def test_every_level_is_chosen_or_skipped_with_a_reason() -> None:
    selection = select(S + "peft/lora.py", "docs/a.md")
    keys = [(choice.suite, choice.level) for choice in (*selection.chosen, *selection.skipped)]
    assert sorted(keys) == sorted(set(BOOK.estimates) | {(level.suite, level.number) for level in LEVELS.levels})
    assert all(choice.reasons for choice in (*selection.chosen, *selection.skipped))


def test_a_needed_level_that_the_catalogue_lacks_stays_visible() -> None:
    only_zero = msgspec.structs.replace(LEVELS, levels=tuple(x for x in LEVELS.levels if x.number == 0))
    selection = rules.select([S + "peft/lora.py"], only_zero, BOOK)
    assert [(c.suite, c.level) for c in selection.uncovered] == [(Suite.VERL, 1), (Suite.NEMO_RL, 1)]
    assert selection.uncovered[0].reasons[0].rule == NOT_IN_CATALOGUE
    assert "this release's catalogue has no such level yet" in selection.uncovered[0].reasons[0].sentence


def test_a_change_that_needs_nothing_names_the_rule() -> None:
    reasons = select("docs/a.md", "docs/b.md").skipped[0].reasons
    assert [(r.rule, r.path) for r in reasons] == [("not-imported-by-anyone", "docs/a.md")]
    assert reasons[0].sentence.endswith("(and 1 more files)")


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        pytest.param("version: 1", "version: 2", "version", id="version"),
        pytest.param(
            "  - id: core-library\n", "  - id: core-library\n    colour: red\n", "paths[0]", id="unknown-field"
        ),
        pytest.param("[/3rdparty/Megatron-LM]", "['!/3rdparty/Megatron-LM']", "paths[0].paths[0]", id="negation"),
        pytest.param("  - id: weekly-workflows", "  - id: core-library", "core-library", id="id-twice"),
        pytest.param("    verl: [0, 1, 2]\n", "    verl: [0, 9]\n", "core-library", id="unknown-level"),
        pytest.param("default_family: any_dense", "default_family: nobody", "families", id="unknown-family"),
        pytest.param("words: '(?i)expert", "words: '(((?i)expert", "words", id="bad-pattern"),
        pytest.param("effect: also", "effect: maybe", "effect", id="unknown-effect"),
    ],
)
def test_a_bad_rule_file_names_the_place(before: str, after: str, key: str, tmp_path: Path) -> None:
    assert before in TEXT
    with pytest.raises(ConfigError) as caught:
        book_of(TEXT.replace(before, after, 1), tmp_path)
    assert key in caught.value.key


def test_every_rule_has_a_reason_and_a_source() -> None:
    owners: tuple[PathRule | TogetherRule | ContentRule, ...] = (
        *BOOK.rules.paths,
        *BOOK.rules.together,
        *BOOK.rules.content,
    )
    assert [rule.id for rule in owners if not (rule.reason.strip() and rule.source.strip())] == []


# --- properties ---

PARTS = st.sampled_from(
    [
        "src/megatron/bridge/",
        "models/",
        "qwen_vl/",
        "deepseek/",
        "modeling_x/",
        "peft/",
        "training/",
        "x_bridge.py",
        "__init__.py",
    ]
)
PATHS = st.one_of(st.lists(PARTS, min_size=1, max_size=5).map("".join), st.text(min_size=1, max_size=40))
UNITS = st.one_of(
    st.none(),
    st.lists(
        st.builds(
            Unit,
            scope=st.sampled_from(["<imports>", "<module>", "B.provider_bridge", "B.hf_to_megatron", "X.?", "setup"]),
            lines=st.lists(st.sampled_from(["pp_rank", "moe_x", "import y", "Inference", "fsdp"]), max_size=3).map(
                tuple
            ),
        ),
        max_size=3,
    ).map(tuple),
)
CHANGES = st.builds(
    Change,
    path=PATHS,
    previous_path=st.one_of(st.none(), PATHS),
    status=st.sampled_from(list(Status)),
    units=UNITS,
    doubt=st.one_of(st.none(), st.just("unreadable")),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(CHANGES, max_size=6), CHANGES)
def test_adding_a_changed_path_never_drops_a_level(changes: list[Change], more: Change) -> None:
    few, many = select(*changes), select(*changes, more)
    for suite in Suite:
        assert set(few.required(suite)) <= set(many.required(suite))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(CHANGES)
def test_doubt_never_narrows(change: Change) -> None:
    known = select(msgspec.structs.replace(change, doubt=None, units=None))
    doubtful = select(msgspec.structs.replace(change, doubt="unreadable", units=None))
    for suite in Suite:
        assert set(known.required(suite)) <= set(doubtful.required(suite))


# --- labelled changes ---


class Case(msgspec.Struct, frozen=True):
    """One labelled change; lists of more than 40 source files are cut."""

    pr: int
    sha: str
    date: str
    required: dict[str, list[int]]
    acceptable: dict[str, list[int]]
    path_decidable: bool
    files: list[dict[str, str]]


CASES = [msgspec.json.decode(line, type=Case) for line in FIXTURE.read_bytes().splitlines()]


@pytest.mark.parametrize("case", [pytest.param(case, id=str(case.pr)) for case in CASES if case.path_decidable])
def test_paths_alone_select_every_required_level_and_no_waste(case: Case) -> None:
    selection = select(*(file["path"] for file in case.files))
    for suite in Suite:
        got, required = set(selection.required(suite)), set(case.required[suite.value])
        assert required <= got <= required | set(case.acceptable[suite.value])
