"""The help file knows every command, and its tags are those of its text."""

import re

from tests.nvim.neovim import PLUGIN


def test_every_word_of_the_command_is_in_the_help() -> None:
    source = (PLUGIN / "lua" / "marvin" / "command.lua").read_text()
    table = source[source.index("local commands = {") : source.index("--- Whatever is shown is listened for")]
    words = set(re.findall(r"^  (\w+) = ", table, re.MULTILINE))
    help_text = (PLUGIN / "doc" / "marvin.txt").read_text()
    section = help_text[help_text.index("2. COMMANDS") : help_text.index("3. OPTIONS  ")]
    assert {word for word in words if not re.search(rf"\b{word}\b", section)} == set()


def test_the_tags_are_those_of_the_help_file() -> None:
    tags = [line.split("\t")[0] for line in (PLUGIN / "doc" / "tags").read_text().splitlines()]
    assert sorted(tags) == sorted(re.findall(r"\*([:\w.-]+)\*", (PLUGIN / "doc" / "marvin.txt").read_text()))
