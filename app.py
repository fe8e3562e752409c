"""Starts the web chat: ``python app.py [--host HOST] [--port PORT]``."""

from __future__ import annotations

import argparse
import sys

from assistant.web import CannotServe, serve


def main() -> None:
    parser = argparse.ArgumentParser(description="Paste a training log, ask why: the web chat.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine only)")
    parser.add_argument("--port", type=int, default=7860)
    parser.add_argument("--open", action="store_true", help="open a browser")
    chosen = parser.parse_args()
    try:
        serve(chosen.host, chosen.port, chosen.open)
    except CannotServe as problem:
        print(f"runwhy: {problem.sentence()}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
