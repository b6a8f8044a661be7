"""Puts itself under a Landlock ruleset and becomes the command: ``landlock_child.py FD CAPABILITIES COMMAND…``.

``FD`` is the open ruleset, ``CAPABILITIES`` the numbers of those that root keeps, joined by commas. It is run as a
script of its own, with the standard library alone (landlock(7), capabilities(7)).
"""

import ctypes
import os
import signal
import sys

_RESTRICT_SELF = 446
_PR_CAPBSET_READ, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 23, 24, 38


def main(ruleset: int, kept: set[int], command: list[str]) -> None:
    """Never returns: the process becomes ``command``, or says why not and exits with 126."""
    libc = ctypes.CDLL(None, use_errno=True)
    capability = 0
    while libc.prctl(_PR_CAPBSET_READ, capability, 0, 0, 0) >= 0:
        if os.geteuid() == 0 and capability not in kept:
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
        capability += 1
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.syscall(_RESTRICT_SELF, ruleset, 0):
        sys.stderr.write(f"The sandbox cannot be entered: {os.strerror(ctypes.get_errno())}. Nothing was run.\n")
        sys.exit(126)
    os.close(ruleset)
    # Python ignores these two, and what is ignored would stay so in the command.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execv(command[0], command)  # noqa: S606
    except OSError as error:
        sys.stderr.write(f"The command cannot be started: {command[0]}: {error.strerror}.\n")
        sys.exit(126)


if __name__ == "__main__":
    main(int(sys.argv[1]), {int(number) for number in sys.argv[2].split(",")}, sys.argv[3:])
