"""A file that is changed keeps its ACL and its tags, and nobody gets access to it who had none."""

import errno
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from marvin_server.workspace import documents
from marvin_server.workspace.changes import Change, stage
from marvin_server.workspace.confine import Root

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="extended attributes are those of Linux")

ACL = "system.posix_acl_access"
DEFAULT = "system.posix_acl_default"


def rules(*entries: tuple[int, int, int]) -> bytes:
    """An ACL as the kernel takes it: entries of a tag, permissions and an id."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


NOBODY = 0xFFFFFFFF
# owner rw, user 12345 rw, group nothing, mask rw, others nothing: the mode alone would say 0660.
PRIVATE = rules((1, 6, NOBODY), (2, 6, 12345), (4, 0, NOBODY), (0x10, 6, NOBODY), (0x20, 0, NOBODY))


def write(root: Root) -> None:
    documents.write(root, documents.read(root, "file"), "new")


def change(root: Root) -> None:
    stage(root, [Change("file", documents.read(root, "file"), "new")]).commit()


def tag(path: Path, name: str, value: bytes) -> None:
    try:
        os.setxattr(path, name, value)
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        pytest.skip(f"this file system has no {name}")


@pytest.mark.parametrize("edit", [write, change])
def test_an_acl_and_tags_stay(tmp_path: Path, edit: Callable[[Root], None]) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    tag(file, ACL, PRIVATE)
    tag(file, "user.tag", b"1")
    edit(Root(tmp_path))
    assert file.read_text() == "new"
    assert (os.getxattr(file, ACL), os.getxattr(file, "user.tag")) == (PRIVATE, b"1")
    assert file.stat().st_mode & 0o777 == 0o660


@pytest.mark.parametrize("edit", [write, change])
def test_the_default_acl_of_the_folder_does_not_widen_access(tmp_path: Path, edit: Callable[[Root], None]) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o640)
    tag(tmp_path, DEFAULT, PRIVATE)
    edit(Root(tmp_path))
    assert file.read_text() == "new"
    assert ACL not in os.listxattr(file)
    assert file.stat().st_mode & 0o777 == 0o640
