"""Plain git in a folder, by somebody whom no configuration needs to name."""

import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b", *words], cwd=folder, check=True)


def commit_all(folder: Path) -> None:
    """Make the folder a repository with one commit."""
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
