from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from assistant.sessions import Cancelled, Unreadable, open_log

LOG = "\n".join(f"step:{step} - actor/entropy:{0.4 - step / 1000} - critic/score/mean:{step / 100}" for step in range(1, 13))


def test_text_and_files_give_the_same_run(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.log", tmp_path / "a.log.gz"
    plain.write_text(LOG)
    packed.write_bytes(gzip.compress(LOG.encode()))
    runs = [open_log(source).run for source in (LOG, LOG.encode(), plain, packed)]
    assert [run.n_records for run in runs] == [12, 12, 12, 12]
    assert all(run.series("actor/entropy").values.tolist() == runs[0].series("actor/entropy").values.tolist() for run in runs)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        ("Dear all, the run looked odd to me today.\nWhat do you think?\n", None),
        (b"\x00\x01\x02\xff" * 500, None),
    ],
)
def test_what_holds_no_run_is_refused_with_one_sentence(text: str | bytes, kind: str | None) -> None:
    with pytest.raises(Unreadable) as refused:
        open_log(text)
    assert kind is None or refused.value.kind == kind
    english, chinese = refused.value.sentence("en"), refused.value.sentence("zh")
    assert english.endswith(".")
    assert "\n" not in english
    assert any("\u4e00" <= char <= "\u9fff" for char in chinese)


def test_a_crash_without_metrics_is_readable() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 3, in <module>\n    main()\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB.\n"
    )
    assert open_log(text).run.events


def test_reading_can_be_stopped_from_the_progress_call() -> None:
    def stop(done: int) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        open_log(LOG, progress=stop)
