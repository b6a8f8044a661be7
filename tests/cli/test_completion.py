"""``marvin completion``: the scripts, in the shells that are there."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.command import Marvin
from tests.patience import SECONDS

# A line that is being typed, and some of what may follow.
TYPED = {
    "marvin se": ["sessions"],
    "marvin --pro": ["--prompt", "--prompt-file", "--provider", "--profile"],
    "marvin --approve ": ["all", "rules", "none"],
    "marvin --provider of": ["offline"],
    "marvin sessions ": ["list", "search", "export"],
    "marvin sessions export --format ": ["markdown", "json"],
    "marvin --plain sessions list --li": ["--limit"],
    "marvin path ": ["nvim", "emacs"],
    "marvin --prompt-file not": ["notes.txt"],
    "marvin completion ": ["bash", "fish", "zsh"],
}
BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_marvin
if [ ${#COMPREPLY[@]} = 0 ]; then COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")); fi
printf '%s\\n' "${COMPREPLY[@]}"
"""
_PRESENT = [shell for shell in ("bash", "fish") if shutil.which(shell)]


def completed(shell: str, script: Path, typed: str) -> list[str]:
    words = typed.split(" ")
    if shell == "bash":
        command = ["bash", "-c", BASH, "bash", str(script), *words]
    else:
        command = [shell, "--no-config", "-c", f"source {script}; complete -C '{typed}'"]
    done = subprocess.run(command, cwd=script.parent, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.stderr == ""
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", _PRESENT)
def test_a_shell_completes_words_options_and_values(marvin: Marvin, tmp_path: Path, shell: str) -> None:
    script = tmp_path / "script"
    script.write_text(marvin("completion", shell).stdout)
    (tmp_path / "notes.txt").write_text("")
    for typed, expected in TYPED.items():
        found = completed(shell, script, typed)
        assert set(expected) <= set(found), (typed, found)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_subcommand_and_option_is_in_each_script(marvin: Marvin, shell: str) -> None:
    script = marvin("completion", shell).stdout
    for word in ("completion", "sessions", "export", "undo", "nvim"):
        assert word in script
    for option in ("non-interactive", "screen-reader", "max-cost", "answer"):
        assert option in script


def test_a_shell_that_is_unknown_is_refused(marvin: Marvin) -> None:
    done = marvin("completion", "tcsh")
    assert done.exit_code == 2
    assert "'tcsh'" in done.stderr
