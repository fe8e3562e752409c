from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from assistant.logs import UnreadableLog, read


def mlflow(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE metrics (key VARCHAR, value FLOAT, timestamp BIGINT, run_uuid VARCHAR, step BIGINT, is_nan BOOLEAN);"
        "CREATE TABLE params (key VARCHAR, value VARCHAR, run_uuid VARCHAR);"
        "CREATE TABLE runs (run_uuid VARCHAR, name VARCHAR, start_time BIGINT);"
    )
    connection.executemany("INSERT INTO runs VALUES (?, ?, ?)", [("a", "first", 1), ("b", "second", 2)])
    rows = [
        ("loss", 9.0, 1, "a", 1, 0),
        ("loss", 0.5, 2, "b", 1, 0),
        ("loss", 0.0, 3, "b", 2, 1),
        ("kl", 1.7976931348623157e308, 3, "b", 2, 0),
    ]
    connection.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.executemany("INSERT INTO params VALUES (?, ?, ?)", [("beta", "0.04", "b"), ("lr", "1", "a")])
    connection.commit()
    connection.close()
    return path


def trackio(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE metrics (id INTEGER PRIMARY KEY, run_id TEXT, timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT);"
        "CREATE TABLE configs (id INTEGER PRIMARY KEY, run_id TEXT, run_name TEXT, config TEXT);"
    )
    rows = [("a", "old", 0, {"loss": 9.0}), ("b", "new", 0, {"loss": 0.5, "kl": "NaN"}), ("b", "new", 1, {"loss": 0.25, "name": "x"})]
    connection.executemany(
        "INSERT INTO metrics (run_id, run_name, step, metrics) VALUES (?, ?, ?, ?)", [(*row[:3], json.dumps(row[3])) for row in rows]
    )
    connection.execute(
        "INSERT INTO configs (run_id, run_name, config) VALUES ('b', 'new', ?)", (json.dumps({"lr": 1e-6, "_Username": "x"}),)
    )
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("as_bytes", [False, True])
def test_the_latest_run_of_an_mlflow_store(tmp_path: Path, as_bytes: bool) -> None:
    path = mlflow(tmp_path / "mlflow.db")
    run = read(path.read_bytes() if as_bytes else path)
    assert run.format == "mlflow-db"
    assert [record["values"] for record in run.records()] == [{"loss": 0.5}, {"loss": "nan", "kl": "inf"}]
    assert run.config == {"beta": 0.04}
    assert [(note.kind, note.data["read"], note.data["others"]) for note in run.notes] == [("other-runs", "second", "first")]
    assert run.n_bytes == path.stat().st_size


@pytest.mark.parametrize("as_bytes", [False, True])
def test_the_latest_run_of_a_trackio_store(tmp_path: Path, as_bytes: bool) -> None:
    path = trackio(tmp_path / "project.db")
    run = read(path.read_bytes() if as_bytes else path)
    assert run.format == "trackio"
    assert [(record["step"], record["values"]) for record in run.records()] == [(0, {"loss": 0.5, "kl": "nan"}), (1, {"loss": 0.25})]
    assert run.config == {"lr": 1e-6}


def test_rows_that_still_stand_in_the_write_ahead_log_are_read(tmp_path: Path) -> None:
    path = trackio(tmp_path / "project.db")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("INSERT INTO metrics (run_id, run_name, step, metrics) VALUES ('b', 'new', 2, '{\"loss\": 0.125}')")
    connection.commit()
    try:
        assert read(path).steps.tolist() == [0, 1, 2]
    finally:
        connection.close()


def test_an_unknown_store_and_views_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE VIEW metrics AS SELECT 'loss' AS key, 1.0 AS value, 1 AS step, 'a' AS run_uuid")
    connection.commit()
    connection.close()
    run = read(path)
    assert not run.n_rows
    assert [note.kind for note in run.notes] == ["unknown-store"]


def test_a_store_damaged_from_its_start_is_unknown(tmp_path: Path) -> None:
    data = bytearray(mlflow(tmp_path / "mlflow.db").read_bytes())
    data[100:] = b"\xff" * (len(data) - 100)
    path = tmp_path / "bad.db"
    path.write_bytes(bytes(data))
    assert [note.kind for note in read(path).notes] == ["unknown-store"]


def test_damage_that_shows_while_reading(tmp_path: Path) -> None:
    path = mlflow(tmp_path / "mlflow.db")
    connection = sqlite3.connect(path)
    connection.executemany("INSERT INTO metrics VALUES ('loss', 0.5, 4, 'b', ?, 0)", [(step,) for step in range(5000)])
    connection.commit()
    connection.close()
    data = bytearray(path.read_bytes())
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    path.write_bytes(bytes(data))
    with pytest.raises(UnreadableLog, match="damaged"):
        read(path)


def test_trackio_keeps_its_metrics_as_bytes_since_2026(tmp_path: Path) -> None:
    path = trackio(tmp_path / "project.db")
    connection = sqlite3.connect(path)
    connection.execute("UPDATE metrics SET metrics = CAST(metrics AS BLOB)")
    connection.commit()
    connection.close()
    assert [record["values"] for record in read(path).records()] == [{"loss": 0.5, "kl": "nan"}, {"loss": 0.25}]
