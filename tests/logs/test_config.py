"""Settings: dicts printed over many lines and torn by other output, and Hydra overrides in commands."""

from __future__ import annotations

import pprint
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.logs import read_text
from assistant.logs.literal import read_mapping, scalar

CONFIG: dict[str, Any] = {
    "actor_rollout_ref": {"actor": {"clip_ratio": 0.2, "optim": {"lr": 1e-06, "betas": [0.9, 0.999]}}, "rollout": {"n": 8, "stop": None}},
    "algorithm": {"adv_estimator": "grpo", "use_kl_in_reward": False},
    "data": {"train_files": ["a'b.parquet", "{odd: 5}"], "empty": {}},
}


def dump(process: str = "(TaskRunner pid=7) ") -> list[str]:
    return [process + line for line in pprint.pformat(CONFIG, width=60).split("\n")]


def test_a_dump_becomes_a_flat_mapping_with_lines() -> None:
    lines = dump()
    run = read_text("hello\n" + "\n".join(lines) + "\n")
    assert run.config == {
        "actor_rollout_ref.actor.clip_ratio": 0.2,
        "actor_rollout_ref.actor.optim.lr": 1e-06,
        "actor_rollout_ref.actor.optim.betas": [0.9, 0.999],
        "actor_rollout_ref.rollout.n": 8,
        "actor_rollout_ref.rollout.stop": None,
        "algorithm.adv_estimator": "grpo",
        "algorithm.use_kl_in_reward": False,
        "data.train_files": ["a'b.parquet", "{odd: 5}"],
        "data.empty": {},
    }
    where = next(i for i, text in enumerate(lines) if "adv_estimator" in text)
    assert run.config_lines["algorithm.adv_estimator"] == where + 2
    assert (run.framework, run.algorithm) == ("verl", "grpo")


@given(st.data())
def test_other_processes_may_print_between_the_lines(data: st.DataObject) -> None:
    noise = ["(WorkerDict pid=9) hello {'a': 1", "Loading: 3%|█ | 1/3 [00:01<00:02, 1.0it/s]", "", "(raylet) x"]
    torn = []
    for line in dump():
        torn += [line, *data.draw(st.lists(st.sampled_from(noise), max_size=2))]
    assert read_text("\n".join(torn) + "\n").config == read_text("\n".join(dump()) + "\n").config


def test_output_glued_to_a_line_of_the_dump_is_left_out() -> None:
    lines = dump()
    at = next(i for i, text in enumerate(lines) if "'lr'" in text)
    lines[at] += "\x1b[36m(WorkerDict pid=9)\x1b[0m Flash Attention {'x': ["
    assert read_text("\n".join(lines) + "\n").config == read_text("\n".join(dump()) + "\n").config


def test_a_dump_that_the_log_cuts_off_gives_what_it_has() -> None:
    lines = dump()[:6]
    config = read_text("\n".join(lines)).config
    assert config["actor_rollout_ref.actor.clip_ratio"] == 0.2
    assert "data.empty" not in config


def test_a_fragment_of_an_error_inside_a_dump_is_no_event() -> None:
    lines = dump()
    lines.insert(2, "(TaskRunner pid=7)                        'note': 'CUDA out of memory. Tried to allocate 2 GiB',")
    assert read_text("\n".join(lines) + "\n").events == []


def test_a_command_over_several_lines_and_shell_variables() -> None:
    run = read_text(
        "N=5 #samples\npython3 -m verl.trainer.main_ppo \\\n    algorithm.adv_estimator=grpo \\\n    data.train_batch_size=1024 \\\n"
        "    actor_rollout_ref.rollout.n=$N \\\n    +trainer.val_before_train=False \\\n    trainer.logger=['console','wandb'] \\\n"
        "    data.val_files=$UNKNOWN \\\n    actor_rollout_ref.actor.optim.lr=1e-6\n"
    )
    assert run.config == {
        "algorithm.adv_estimator": "grpo",
        "data.train_batch_size": 1024,
        "actor_rollout_ref.rollout.n": 5,
        "trainer.val_before_train": False,
        "trainer.logger": ["console", "wandb"],
        "actor_rollout_ref.actor.optim.lr": 1e-6,
    }
    assert run.config_lines["actor_rollout_ref.rollout.n"] == 5


def test_overrides_in_hydras_error_message() -> None:
    run = read_text("Error executing job with overrides: ['data.train_batch_size=32', '+trainer.x=null', \"trainer.logger=['a','b']\"]\n")
    assert run.config == {"data.train_batch_size": 32, "trainer.x": None, "trainer.logger": ["a", "b"]}


def test_the_printed_config_wins_over_the_command() -> None:
    command = "python -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=4 trainer.nnodes=2\n"
    run = read_text(command + "\n".join(dump()) + "\n" + command)
    assert run.config["actor_rollout_ref.rollout.n"] == 8
    assert run.config["trainer.nnodes"] == 2


def test_advice_in_a_sentence_is_no_setting() -> None:
    assert read_text("(TaskRunner pid=7) You should set data.train_batch_size=64 to avoid this, please.\n").config == {}


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False),
    st.text(alphabet="abc'\" {}[],:\\", max_size=12),
)
NAMES = st.from_regex(r"[a-z]{1,8}", fullmatch=True)


@given(
    st.recursive(
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(-(10**9), 10**9),
            st.floats(allow_nan=False),
            st.text(alphabet="abc'\" {}[],:\\", max_size=12),
        ),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=4)),
        max_leaves=12,
    ).filter(lambda value: isinstance(value, dict))
)
def test_any_printed_mapping_reads_as_python_would(value: dict[str, Any]) -> None:
    def flat(mapping: dict[str, Any], path: str = "") -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, inner in mapping.items():
            name = f"{path}.{key}" if path else key
            found |= flat(inner, name) if isinstance(inner, dict) and inner else {name: inner}
        return found

    def plain(value: Any) -> bool:
        return not isinstance(value, list) or all(plain(v) and not isinstance(v, dict) for v in value)

    text = list(enumerate(pprint.pformat(value, width=40).split("\n"), 1))
    have, where = read_mapping(text)
    want = {key: inner for key, inner in flat(value).items() if plain(inner)}
    assert {key: have.get(key, "absent") for key in want} == want
    assert all(1 <= line <= len(text) for line in where.values())


def test_words_of_a_command_line_as_values() -> None:
    words = ("1e-6", "True", "null", "3", "0.5", "'a b'", "[1, 2]", "grpo", "")
    assert [scalar(word) for word in words] == [1e-06, True, None, 3, 0.5, "a b", [1, 2], "grpo", ""]


@pytest.mark.parametrize(
    "end",
    [
        "$@",
        '"$@"',
        "${@:2}",
        "${EXTRA:-}",
        '"${ARGS[@]}"',
        "2>&1 | tee train.log",
        "> out.log 2>&1 &",
        "# the last",
        "|| exit 1",
        "; date",
        "\\",
    ],
)
def test_the_last_line_of_a_script(end: str) -> None:
    run = read_text(f"python3 -m verl.trainer.main_ppo \\\n    algorithm.adv_estimator=grpo \\\n    trainer.total_epochs=15 {end}\n")
    assert run.config == {"algorithm.adv_estimator": "grpo", "trainer.total_epochs": 15}
    assert run.config_lines["trainer.total_epochs"] == 3


def test_words_around_an_assignment_make_no_command() -> None:
    assert read_text("I set trainer.total_epochs=15 & hoped; then data.train_batch_size=5 was wrong\n").config == {}
