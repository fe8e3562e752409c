"""The store that the environment names, and one clear sentence when it cannot be had."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assistant.sessions import MemoryStore, Settings, UnusableStore, open_log, open_store
from assistant.sessions.settings import configured, data_folder
from tests.sessions.conftest import Kind
from tests.sessions.logs import log_text, turn


def test_the_environment_says_where_and_how_long(tmp_path: Path) -> None:
    given = {
        "RUNWHY_STORE": "memory",
        "RUNWHY_DATA": "~/x",
        "RUNWHY_KEEP_HOURS": "48",
        "RUNWHY_KEEP_FEEDBACK_DAYS": "1.5",
        "RUNWHY_STORE_GB": "0.5",
    }
    settings = configured(given)
    assert (settings.url, settings.folder, settings.ttl) == ("memory", Path.home() / "x", 48 * 3600)
    assert (settings.feedback_ttl, settings.max_bytes) == (1.5 * 86400, 1 << 29)
    plain = configured({"XDG_DATA_HOME": str(tmp_path)})
    assert (plain.url, plain.ttl) == ("", 6 * 3600)
    if sys.platform == "linux":
        assert plain.folder == tmp_path / "runwhy"
        assert data_folder({}) == Path.home() / ".local" / "share" / "runwhy"


@pytest.mark.parametrize("value", ["x", "0", "-1", "nan", "inf", "1e99"])
def test_a_bad_number_is_told(value: str) -> None:
    with pytest.raises(UnusableStore) as problem:
        configured({"RUNWHY_KEEP_HOURS": value})
    assert "RUNWHY_KEEP_HOURS" in problem.value.sentence("en")
    assert "RUNWHY_KEEP_HOURS" in problem.value.sentence("zh")


def test_open_store_gives_what_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from assistant.sessions.database import DatabaseStore

    monkeypatch.setenv("RUNWHY_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("RUNWHY_STORE", "memory")
    assert isinstance(open_store(), MemoryStore)
    assert not (tmp_path / "data").exists()
    monkeypatch.delenv("RUNWHY_STORE")
    store = open_store()
    assert isinstance(store, DatabaseStore)
    session = store.create(open_log(log_text()), source=log_text())
    store.close()
    again = open_store(Settings(url=f"sqlite:///{tmp_path / 'data' / 'sessions.db'}", folder=tmp_path / "data"))
    assert again.get(session.id)
    again.close()


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("mysql://root@localhost/x", "bad_url"),
        ("nonsense", "bad_url"),
        ("sqlite://", "bad_url"),
        ("postgresql://nobody:hidden@127.0.0.1:1/x", "no_database"),
        ("postgres://nobody:hidden@127.0.0.1:1/x", "no_database"),
        ("sqlite:////proc/none/x.db", "no_folder"),
    ],
)
def test_a_database_that_cannot_be_had_is_told_without_the_password(tmp_path: Path, url: str, kind: str) -> None:
    with pytest.raises(UnusableStore) as problem:
        open_store(Settings(url=url, folder=tmp_path / "data"))
    assert problem.value.kind == kind
    for language in ("en", "zh"):
        sentence = problem.value.sentence(language)
        assert "hidden" not in sentence
        assert "\n" not in sentence
    assert "RUNWHY_" in problem.value.sentence()


def test_a_folder_that_cannot_be_had_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UnusableStore) as problem:
        open_store(Settings(folder=tmp_path / "file" / "data"))
    assert problem.value.kind == "no_folder"


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "sessions.db").write_bytes(b"this is not a database" * 100)
    with pytest.raises(UnusableStore) as problem:
        open_store(Settings(folder=tmp_path))
    assert problem.value.kind == "no_database"
    assert (tmp_path / "sessions.db").read_bytes().startswith(b"this is not")


def test_a_store_of_a_newer_version_is_left_alone(lasting: Kind) -> None:
    from sqlalchemy import text

    store = lasting.open()
    with store.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(UnusableStore) as problem:
        lasting.open()
    assert problem.value.kind == "newer_store"
    with store.engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == "9999"


def test_the_migrations_make_the_tables_that_the_code_uses(lasting: Kind) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    from assistant.sessions.database import tables
    from assistant.sessions.database.engine import REVISION, alembic_config

    assert ScriptDirectory.from_config(alembic_config()).get_current_head() == REVISION
    store = lasting.open()
    with store.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, tables.metadata) == []


def test_the_store_of_an_older_version_is_brought_up_with_all_that_is_in_it(lasting: Kind) -> None:
    """Made by the first revision, used, and opened by this version: nothing is lost, at whatever revision it was left."""
    from alembic import command
    from alembic.script import ScriptDirectory
    from sqlalchemy import text

    from assistant.sessions.database import engine as engines

    revisions = [one.revision for one in ScriptDirectory.from_config(engines.alembic_config()).walk_revisions()][::-1]
    assert revisions[0] == "0001"
    assert revisions[-1] == engines.REVISION
    # Written by this version, then taken back to how the first revision kept it
    store = lasting.open()
    session = store.create(open_log(log_text()), "train.log", source=log_text(), owner="ann")
    store.add_turn(session.id, turn("why?", "So."))
    store.feedback(session.id, 0, False, "no")
    store.bind("thread", session.id)
    store.keep(session.id, "guide", {"at": 3})
    token = store.share(session.id)
    pending = store.ask("", "and then?", key="Ev1", data={"channel": "C1"}, lane="thread")
    config = engines.alembic_config()
    with engines.writing(store.engine) as connection:
        connection.execute(text("DROP INDEX ix_questions_lane"))
        connection.execute(text("ALTER TABLE questions DROP COLUMN lane"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    store.close()

    for revision in revisions[1:]:
        bare = (
            engines._sqlite(engines._url(lasting.settings()))
            if lasting.name == "sqlite"
            else engines._postgresql(engines._url(lasting.settings()))
        )
        with engines.writing(bare) as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, revision)
            assert engines.revision_of(connection) == revision
        bare.dispose()
    again = lasting.open()
    kept = again.get(session.id)
    assert (kept.name, kept.owner, kept.kept) == ("train.log", "ann", {"guide": {"at": 3}})
    assert kept.diagnosis.run.n_lines == session.diagnosis.run.n_lines
    assert [(one.question, one.markdown, one.good, one.reason) for one in again.transcript(session.id)] == [("why?", "So.", False, "no")]
    assert again.bound("thread") == session.id
    assert again.by_token(token).id == session.id
    assert [(one.id, one.question, one.data) for one in again.open_questions()] == [(pending.id, "and then?", {"channel": "C1"})]
    assert again.claim(pending.id, "w")
    assert not again.ahead("thread")  # it was asked before talks were kept
    assert len(list(again.given_feedback())) == 1


def test_a_migration_that_fails_leaves_nothing_half_done(lasting: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy import inspect

    from assistant.sessions.database import engine as engines

    class Stop(Exception):
        pass

    def broken(*args: object, **kwargs: object) -> None:
        raise Stop

    with monkeypatch.context() as patch:
        patch.setattr("alembic.op.create_index", broken)
        with pytest.raises(Stop):
            lasting.open()
    url = engines._url(lasting.settings())
    bare = engines._sqlite(url) if lasting.name == "sqlite" else engines._postgresql(url)
    assert [name for name in inspect(bare).get_table_names() if name != "alembic_version"] == []
    bare.dispose()
    store = lasting.open()
    assert store.get(store.create(open_log(log_text()), source=log_text()).id)


def test_without_sqlalchemy_the_sentence_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "from assistant.sessions import open_store, Settings, UnusableStore\n"
        "try: open_store(Settings())\n"
        "except UnusableStore as problem: print(problem.kind, problem.sentence())\n"
        "print(type(open_store(Settings(url='memory'))).__name__)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.startswith("needs_sqlalchemy ")
    assert 'pip install "runwhy[web]"' in said
    assert "MemoryStore" in said


def test_nothing_heavy_is_imported_for_other_commands() -> None:
    program = (
        "import sys; import assistant.cli.commands, assistant.sessions\n"
        "print([name for name in ('sqlalchemy', 'alembic', 'assistant.diagnosis', 'tarfile') if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=dict(os.environ)).stdout
    assert "sqlalchemy" not in said
    assert "alembic" not in said
