"""The commands. Each reads, asks the core, and prints; none knows a format or a metric."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from typing import Annotated, Any

import typer

from assistant import __version__
from assistant.cli.loading import Unreadable, load
from assistant.messages import Language, say

app = typer.Typer(
    name="runwhy",
    help="Paste a training log, ask why. `runwhy LOG` alone diagnoses it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)


class Lang(StrEnum):
    en = "en"
    zh = "zh"


Log = Annotated[str, typer.Argument(metavar="LOG", help="A log file (also .gz, .zst), or - for standard input.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
InFormat = Annotated[str | None, typer.Option("--format", help="Read it as this format or framework, whatever it looks like.")]
InLanguage = Annotated[Lang | None, typer.Option("--lang", help="Language of the output; default: the environment's.")]


def command_names() -> set[str]:
    groups = {group.name for group in app.registered_groups if group.name}
    return groups | {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}


def language_of(chosen: Lang | None) -> Language:
    if chosen is not None:
        return chosen.value
    named = os.environ.get("LC_ALL") or os.environ.get("LC_MESSAGES") or os.environ.get("LANG") or ""
    return "zh" if named.lower().startswith("zh") else "en"


def _drop_output() -> None:
    """Whatever is still buffered goes nowhere, so that the interpreter does not fail on it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    """Input that cannot be read ends in one line and exit code 2, with ``--json`` too."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
            sys.stdout.flush()
        except Unreadable as problem:
            print(f"runwhy: {problem}", file=sys.stderr)
            raise typer.Exit(2) from None
        except BrokenPipeError:
            _drop_output()
            raise typer.Exit(0) from None
        except OSError as problem:  # the output cannot be written: a full disk
            _drop_output()
            print(f"runwhy: {say('cli.cannot_write', language_of(None), reason=problem.strerror or problem)}", file=sys.stderr)
            raise typer.Exit(1) from None

    return run


def print_json(value: Any) -> None:
    import orjson

    sys.stdout.buffer.write(orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS) + b"\n")
    sys.stdout.flush()


def _version(wanted: bool) -> None:
    if wanted:
        print(f"runwhy {__version__}")
        raise typer.Exit


@app.callback()
def _root(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False) -> None:
    pass


@app.command()
@_guarded
def diagnose(
    log: Log,
    full: Annotated[bool, typer.Option("--full", help="Write every finding out.")] = False,
    format: InFormat = None,
    as_json: Json = False,
    lang: InLanguage = None,
) -> None:
    """What is wrong with this run, since when, and what to do."""
    from assistant.diagnosis import diagnose as look
    from assistant.diagnosis.render import diagnosis_json

    language = language_of(lang)
    diagnosis = look(load(log, language, format))
    if as_json:
        print_json(diagnosis_json(diagnosis, language))
        return
    from assistant.cli.note import print_note

    print_note(diagnosis, language, full=full)


@app.command()
@_guarded
def ask(
    log: Log,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help='For example "why is my pg_loss positive?"')],
    as_json: Json = False,
    lang: Annotated[Lang | None, typer.Option("--lang", help="Language of the answer; default: the question's.")] = None,
    no_llm: Annotated[bool, typer.Option("--no-llm", help="Answer without a language model, even if one is configured.")] = False,
    others: Annotated[
        list[str] | None, typer.Option("--with", metavar="LOG", help="Another run of the talk, later than the first; may be repeated.")
    ] = None,
    show_prompt: Annotated[bool, typer.Option("--show-prompt", help="Print exactly what a model would be sent, and send nothing.")] = False,
) -> None:
    """Answer a question about this run, from its own values."""
    from assistant.cli.asked import answered, endpoint_of, print_prompt, prompt_for, run_names
    from assistant.diagnosis import diagnose as look

    endpoint = endpoint_of(no_llm)
    chosen: Language | None = lang.value if lang else None
    diagnosis = look(load(log, language_of(lang)))
    name, *names = run_names([log, *(others or ())])
    further = [(called, look(load(one, language_of(lang)))) for called, one in zip(names, others or (), strict=True)]
    if show_prompt:
        print_prompt(prompt_for(question, diagnosis, chosen, endpoint, name=name, others=further), as_json=as_json)
        return
    given = answered(question, diagnosis, chosen, endpoint, log, show=not as_json, others=further, name=name)
    if as_json:
        print_json(given.to_json())
        return
    from assistant.cli.note import print_answer

    print_answer(given)


@app.command()
@_guarded
def parse(
    log: Log,
    records: Annotated[bool, typer.Option("--records", help="With --json: every record with its values as printed.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Which formats were tried, how far each got, which lines were not read.")
    ] = False,
    format: InFormat = None,
    as_json: Json = False,
    lang: InLanguage = None,
) -> None:
    """What was understood of this log: format, version, metrics, settings, events, and what was not read."""
    language = language_of(lang)
    run = load(log, language, format)
    from assistant.cli.parsed import parse_json, print_parse

    if as_json:
        from assistant.cli.tried import tried_json

        print_json(parse_json(run, language, records=records) | (tried_json(run) if explain else {}))
    elif explain:
        from assistant.cli.tried import print_tried

        print_tried(run, language)
    else:
        print_parse(run, language, records=records)


@app.command()
@_guarded
def explain(
    name: Annotated[str, typer.Argument(metavar="METRIC|FINDING", help="actor/pg_loss, entropy, entropy-collapse, …")],
    as_json: Json = False,
    lang: InLanguage = None,
) -> None:
    """The knowledge card of a metric or a finding."""
    from assistant.cli.explained import card_json, print_card
    from assistant.retrieval.lookup import find_card

    language = language_of(lang)
    found, close = find_card(name)
    if found is None:
        hint = say("cli.did_you_mean", language, names=", ".join(close)) if close else say("cli.try_explain", language)
        raise Unreadable(say("cli.no_card", language, name=name) + " " + hint)
    if as_json:
        print_json(card_json(found))
    else:
        print_card(found, language)


@app.command()
@_guarded
def search(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help='In any words, for example "entropy keeps falling".')],
    limit: Annotated[int, typer.Option(min=1, max=50, help="How many cards.")] = 5,
    as_json: Json = False,
    lang: InLanguage = None,
) -> None:
    """The knowledge cards that answer a question."""
    from assistant.cli.searched import find, print_found

    found = find(question, limit=limit, quiet=as_json)
    if as_json:
        print_json(found.to_json())
    else:
        print_found(found, language_of(lang))


@app.command()
@_guarded
def compare(
    a: Annotated[str, typer.Argument(metavar="A", help="The earlier run's log.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The later run's log.")],
    as_json: Json = False,
    lang: InLanguage = None,
) -> None:
    """Two runs side by side: settings that differ, curves that part, and whether what was wrong is gone."""
    from assistant.cli.compared import comparison_json, print_comparison
    from assistant.diagnosis.compare import compare as side_by_side

    language = language_of(lang)
    found = side_by_side(load(a, language), load(b, language))
    if as_json:
        print_json(comparison_json(found, language))
    else:
        print_comparison(found, language)


@app.command()
@_guarded
def guide(
    log: Log,
    symptom: Annotated[str, typer.Option("--symptom", help="Begin with this symptom (the id of a guide) instead of asking.")] = "start",
    choose: Annotated[list[str] | None, typer.Option("--choose", help="Take this option on the next page; may be repeated.")] = None,
    all_defaults: Annotated[
        bool, typer.Option("--all-defaults", help="Ask nothing: take what the log supports and print every page.")
    ] = False,
    teach: Annotated[bool, typer.Option("--teach", help="A first reading of this run: the eight numbers that matter.")] = False,
    format: InFormat = None,
    as_json: Json = False,
    lang: InLanguage = None,
) -> None:
    """Step by step from what you see to what to change, each step checked against this run."""
    from assistant.cli import guided
    from assistant.diagnosis import diagnose as look

    language = language_of(lang)
    guided.check(symptom, language)
    diagnosis = look(load(log, language, format))
    if teach:
        if as_json:
            print_json(guided.teach_json(diagnosis, language))
        else:
            guided.print_lessons(diagnosis, language)
    elif as_json:
        print_json(guided.guide_json(diagnosis, symptom, choose or (), language))
    elif all_defaults or log == "-" or not guided.interactive():
        guided.print_walk(diagnosis, symptom, choose or (), language)
    else:
        guided.talk(diagnosis, symptom, choose or (), language)


@app.command("eval")
@_guarded
def evaluate(
    cases: Annotated[str, typer.Argument(metavar="CASES_DIR", help="A folder of labelled cases (case.json beside each log).")],
    as_json: Json = False,
    lang: InLanguage = None,
) -> None:
    """Score the diagnosis on labelled logs."""
    from assistant.cli.scored import print_scores
    from assistant.evaluation import NoCases
    from assistant.evaluation import evaluate as score

    try:
        scores = score(cases)
    except NoCases as problem:
        raise Unreadable(str(problem)) from problem
    if as_json:
        print_json(scores.to_json())
    else:
        print_scores(scores)


@app.command()
@_guarded
def redact(
    log: Log,
    pattern: Annotated[list[str] | None, typer.Option("--pattern", help="Another regular expression to mask; may be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print only what was masked, by kind, as JSON.")] = False,
    lang: InLanguage = None,
) -> None:
    """The log with keys, names and addresses masked, as a remote model would see it."""
    from assistant.cli import redacted

    language = language_of(lang)
    redactor = redacted.redactor_for(pattern or ())
    for part in redacted.masked(log, redactor, language):
        if not as_json:
            sys.stdout.write(part)
    if as_json:
        print_json(redacted.as_json(redactor))
    else:
        sys.stdout.flush()
        print(redacted.told(redactor, language), file=sys.stderr)


@app.command()
@_guarded
def doctor(as_json: Json = False, lang: InLanguage = None) -> None:
    """Is everything set up: parts, cards, and the language model, if one is configured."""
    from assistant.cli.doctor import checks, print_checks

    language = language_of(lang)
    if as_json:
        found = list(checks(language))
        print_json({"checks": [check.to_json() for check in found], "ok": all(check.state != "bad" for check in found)})
        well = all(check.state != "bad" for check in found)
    else:
        well = print_checks(language)
    if not well:
        raise typer.Exit(1)


@app.command()
@_guarded
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 7860,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    store: Annotated[
        str | None, typer.Option(help="Where talks are kept: memory, or a database's URL (default: SQLite in the data folder).")
    ] = None,
    data: Annotated[str | None, typer.Option(help="Folder for the logs of open talks (default: the user's data folder).")] = None,
    lang: InLanguage = None,
) -> None:
    """Start the web chat. A login: RUNWHY_WEB_AUTH=user:password."""
    try:
        import gradio  # noqa: F401
    except ModuleNotFoundError:
        raise Unreadable(say("cli.needs_web", language_of(lang))) from None
    from assistant.web import CannotServe
    from assistant.web import serve as start

    if store is not None:
        os.environ["RUNWHY_STORE"] = store
    if data is not None:
        os.environ["RUNWHY_DATA"] = data
    try:
        start(host=host, port=port, open_browser=open_browser)
    except CannotServe as problem:
        raise Unreadable(problem.sentence(language_of(lang))) from problem


@app.command()
@_guarded
def slack(
    socket: Annotated[bool, typer.Option("--socket", help="Socket Mode: no public address is needed (the default).")] = False,
    http: Annotated[bool, typer.Option("--http", help="Listen for Slack's signed requests instead.")] = False,
    host: Annotated[str, typer.Option(help="With --http: address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="With --http: port to listen on (0: a free one).")] = 3000,
    manifest: Annotated[bool, typer.Option("--manifest", help="Print the manifest from which Slack makes the app.")] = False,
    url: Annotated[str, typer.Option(help="With --manifest: the bot's public address, for HTTP.")] = "",
    lang: InLanguage = None,
) -> None:
    """Start the Slack bot."""
    from assistant.cli import slack as bot

    if manifest:
        bot.print_manifest(url)
    else:
        bot.run(language_of(lang), socket=socket, http=http, host=host, port=port)


from assistant.cli import reported as _reported  # noqa: E402, F401  (a command of its own, which takes its options from here)
from assistant.cli.sessions import group as _sessions  # noqa: E402  (its commands take their options from here)

app.add_typer(_sessions, name="sessions")
