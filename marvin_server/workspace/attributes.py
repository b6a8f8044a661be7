"""What a file has besides its content, carried over to its new version: owner, permissions, ACL and the user's tags."""

import os
import stat
import sys
from contextlib import suppress

from marvin_server.errors import ToolError
from marvin_server.workspace.names import printable

_ACL = "system.posix_acl_access"
_TAGS = "user."


def carry_over(source: int, target: int, path: str) -> None:
    """Give the open file ``target`` the permission bits, the ACL and the extended attributes of the user that the open
    file ``source`` has, and its owner where the system allows it.

    The bits come last, so that nobody gets access who had none. Raises ToolError, which names ``path``, for an
    attribute that cannot be carried over, and OSError.
    """
    status = os.fstat(source)
    with suppress(PermissionError):
        os.fchown(target, status.st_uid, status.st_gid)
    if sys.platform == "linux":
        there, own = (_names(fd) for fd in (source, target))
        for name in sorted(there):
            try:
                os.setxattr(target, name, os.getxattr(source, name))
            except OSError as error:
                what = "access control list" if name == _ACL else f"attribute {printable(name)}"
                raise ToolError(
                    f"'{printable(path)}' has an {what} that its new version cannot get ({error.strerror}), so it was "
                    "left as it was. Ask the person to change the file, or to remove it (setfacl -b, setfattr -x)."
                ) from error
        # A folder's default ACL gives every new file one.
        for name in own - there:
            os.removexattr(target, name)
    os.fchmod(target, stat.S_IMODE(status.st_mode))


def _names(fd: int) -> set[str]:
    try:
        return {name for name in os.listxattr(fd) if name == _ACL or name.startswith(_TAGS)}
    except OSError:
        return set()  # a file system without attributes
