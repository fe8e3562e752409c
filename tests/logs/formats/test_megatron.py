from __future__ import annotations

from assistant.logs import read_text

LINE = (
    " iteration {step:8d}/    1000 | consumed samples: {step:12d} | elapsed time per iteration (ms): 430.0 | learning rate: 1.342E-04 |"
    " global batch size:     4 |{loss} loss scale: 16384.0 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"
)
LOSS = " lm loss: 7.399415E+00 |"


def test_a_skipped_iteration_has_no_loss_and_the_others_keep_theirs() -> None:
    run = read_text(LINE.format(step=10, loss="") + LINE.format(step=20, loss=LOSS) + LINE.format(step=30, loss=" lm loss: nan |"))
    loss = run.series("lm loss")
    assert loss is not None
    assert list(loss.steps) == [20, 30]
    assert [loss.text(i) for i in range(2)] == ["7.399415E+00", "nan"]
    assert loss.resolution(0) < 1e-6
    assert (run.n_records, run.total_steps) == (3, 1000)


def test_a_cut_line_loses_its_last_value_only() -> None:
    whole = LINE.format(step=20, loss=LOSS).rstrip()
    for end in ("| loss scale: 163", "| loss scale: ", "| loss sc"):
        cut = whole[: whole.index("| loss scale")] + end
        run = read_text(LINE.format(step=10, loss=LOSS) + cut)
        last = list(run.records())[-1]["values"]
        assert last["lm loss"] == 7.399415
        assert "loss scale" not in last


def test_times_and_validation_stand_with_their_iteration() -> None:
    text = (
        "time (ms) | model-and-optimizer-setup: 294.00 | train/valid/test-data-iterators-setup: 3654.81\n"
        + LINE.format(step=20, loss=LOSS)
        + "time (ms) | forward-compute: 53.79 | optimizer: 63.01\n"
        + " validation loss at iteration 20 | lm loss value: 7.1E+00 | lm loss PPL: 1.2E+03 |\n"
    )
    run = read_text(text)
    values = next(run.records())["values"]
    assert run.n_records == 1
    assert (values["forward-compute"], values["optimizer"], values["lm loss PPL"]) == (53.79, 63.01, 1200.0)
    assert "model-and-optimizer-setup" not in run.columns


def test_the_engine_of_deepspeed_beside_it_adds_no_record() -> None:
    engine = (
        "[2023-06-12 18:08:09,410] [INFO] [logging.py:96:log_dist] [Rank 0] step=2, skipped=0, lr=[2.8e-07, 2.8e-07], mom=[[0.9, 0.95]]\n"
    )
    run = read_text(LINE.format(step=1, loss=LOSS) + engine + LINE.format(step=2, loss=LOSS))
    assert (run.format, run.n_records) == ("megatron", 2)
