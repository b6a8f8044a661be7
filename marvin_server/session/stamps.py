"""What tells that a file is still as it was when it was read."""

import os
import time

Stamp = tuple[int, ...]

_SETTLED = 2 * 10**9  # ns; clocks of file systems are coarse


def stamp(status: os.stat_result) -> Stamp:
    """The same as long as the file is. No stamp of a file that was changed a moment ago, or in the future, is ever the
    same as another one, since the next change might not show."""
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    is_settled = time.time_ns() - changed > _SETTLED
    once = 0 if is_settled else time.monotonic_ns()
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, once)
