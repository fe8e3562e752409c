from __future__ import annotations

from assistant.logs import read_text


def test_a_table_with_tabs_and_empty_cells() -> None:
    run = read_text("Step\tTraining Loss\tValidation Loss\n10\t1.500000\tNo log\n20\t1.250000\t1.300000\n30\t\t\n")
    assert [record["step"] for record in run.records()] == [10, 20]
    loss = run.series("Training Loss")
    assert loss is not None
    assert loss.resolution(0) == 5e-7
    assert list(run.records())[1]["values"] == {"Training Loss": 1.25, "Validation Loss": 1.3}


def test_a_markdown_table_with_bars_at_its_ends() -> None:
    run = read_text(
        "| Step | Training Loss | reward | kl |\n|------|------|------|------|\n"
        "| 1 | 0.000000 | -17.250000 | 0.000010 |\n| 2 | 0.0 | 1.0 | nan |\n"
    )
    assert (run.framework, run.n_records) == ("hf-trainer", 2)
    assert list(run.records())[1]["values"]["kl"] == "nan"


def test_spaces_instead_of_tabs() -> None:
    run = read_text("Step Training Loss Validation Loss\n10 1.500000 1.600000\n20 1.250000 1.300000\n")
    assert [record["values"]["Validation Loss"] for record in run.records()] == [1.6, 1.3]


def test_another_header_begins_another_table() -> None:
    run = read_text(
        "Step | Training Loss\n-- | --\n1 | 0.5\n\nsome words\nEpoch | Training Loss | Accuracy\n-- | -- | --\n1 | 0.25 | 0.75\n"
    )
    assert [record["values"] for record in run.records()] == [{"Training Loss": 0.5}, {"Training Loss": 0.25, "Accuracy": 0.75}]


def test_rows_of_other_width_are_not_read() -> None:
    assert read_text("Step | Training Loss | kl\n1 | 0.5\n2 | 0.5 | 0.1 | 0.2\n").n_rows == 0
