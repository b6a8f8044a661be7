"""Bring back what ``marvin undo`` has taken back."""

import argparse

from marvin_cli.commands import undo
from marvin_server.settings import Settings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    undo.add_arguments(parser)


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    return undo.take_back("redo", arguments, settings)
