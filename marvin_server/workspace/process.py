"""Runs commands: streams what they print, keeps a bounded part of it, and leaves no process behind."""

import asyncio
import codecs
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from marvin_server.errors import ToolError
from marvin_server.messages import new_id
from marvin_server.workspace.descendants import TAG, Descendants, best_way
from marvin_server.workspace.orphans import adoption

if TYPE_CHECKING:
    from marvin_server.workspace.sandbox_session import SessionSandbox

_SETTLE = 0.2
_CHUNK = 65536
_SIGNALLED = 128
_DEADLY = frozenset(
    {signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM}
)
_GUARD = """
read -r leader
read -r _
kill -s KILL -- "-$leader"
for _ in 1 2 3 4 5 6 7 8 9 10; do
  tagged=$(grep -lsF "$1" /proc/[0-9]*/environ)
  [ "$tagged" ] || exit
  for file in $tagged; do pid=${file#/proc/}; kill -KILL "${pid%/environ}"; done
done
"""


class Completed(Struct, frozen=True):
    """How a command went.

    ``exit_code`` is negative for the signal that ended the command, and None when it was stopped at its time-out. In
    bubblewrap's sandbox the signals that mean a crash or a kill are known by the exit code 128 + n, others stay that.
    ``output`` is what it wrote to stdout and stderr, in order; where it was longer than the limit, a line says how
    many bytes the middle lost.
    """

    exit_code: int | None
    output: str
    omitted_bytes: int
    timed_out: bool


class Processes:
    """The commands that run at this moment. ``descendants`` is the way to find all that a command has started."""

    def __init__(self, descendants: type[Descendants] | None = None) -> None:
        self._descendants = descendants or best_way()
        self._live: set[Descendants] = set()

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: int | Path,
        environ: Mapping[str, str],
        timeout: float | None,
        emit: Callable[[str], None] | None = None,
        errors: str = "replace",
        pass_fds: Sequence[int] = (),
        limit: int = 50_000,
        sandbox: "SessionSandbox | None" = None,
    ) -> Completed:
        """Run ``argv`` in the folder ``cwd`` (a path, or its descriptor) with exactly the variables of ``environ``.

        ``timeout`` is in seconds; ``emit`` gets the output as it arrives, whole characters at a time, and ends the
        command when it raises; ``errors`` says how bytes that are not UTF-8 are decoded. The command has the
        descriptors ``pass_fds`` and nothing to read. ``limit`` is in bytes of output, of which the first 60 % and the
        last 40 % are kept. In a ``sandbox`` the command has no ``pass_fds``, and variables that the sandbox sets and
        leaves out; lines at the end of the output say where it may have stood in the way.

        All processes that the command started are gone on return, cancellation included; when the command itself
        ends first, those that still run are ended and a last line says how many. When Marvin is killed they are
        killed too. Raises ToolError when the command cannot be started.
        """
        tag = new_id()
        tree = self._descendants(tag)
        output = _Output(limit, emit, errors)
        timed_out = False
        with ExitStack() as stack:
            confined = None if sandbox is None else await sandbox.confine(stack, argv, cwd, environ)
            if confined is not None:
                argv, environ, pass_fds = confined.argv, confined.environ, confined.pass_fds
                tree.has_leader = confined.has_leader
            self._live.add(tree)
            stack.callback(self._live.discard, tree)
            stack.enter_context(adoption().command())
            watch = stack.enter_context(_guard(tag, environ))
            with ExitStack() as failed:
                failed.callback(tree.kill)
                tagged = {**environ, TAG: f"{environ.get(TAG, '')} {tag}".strip()}
                command, read_end = await _start(argv, cwd, tagged, pass_fds)
                failed.pop_all()
            tree.leader = command.pid
            watch(command.pid)
            copying = asyncio.create_task(output.copy(read_end))
            stack.callback(copying.cancel)
            exited = asyncio.create_task(command.wait())
            stack.callback(exited.cancel)
            try:
                async with asyncio.timeout(timeout):
                    await asyncio.wait({exited, copying}, return_when=asyncio.FIRST_COMPLETED)
                    if exited.done() or not copying.exception():
                        await asyncio.wait({exited})
                await asyncio.wait({copying}, timeout=_SETTLE)
            except TimeoutError:
                timed_out = True
            finally:
                left = await tree.end()
                await asyncio.wait({exited, copying}, timeout=_SETTLE)
            if copying.done():
                copying.result()
            exit_code = exited.result() if exited.done() and not timed_out else None
        if tree.has_leader and exit_code is not None and exit_code - _SIGNALLED in _DEADLY:
            exit_code = _SIGNALLED - exit_code
        if left and not timed_out:
            processes = "1 background process was" if left == 1 else f"{left} background processes were"
            output.add_line(f"[{processes} ended]")
        if confined is not None:
            for line in confined.remarks(exit_code, output.kept()[0]):
                output.add_line(line)
        text, omitted = output.kept()
        return Completed(exit_code, text, omitted, timed_out)

    def kill_all(self) -> None:
        """Kill every live command with all that it started, at once; for the end of Marvin's own process."""
        for tree in list(self._live):
            tree.kill()


def shell_argv(command: str, environ: Mapping[str, str]) -> list[str]:
    """The argv that has bash, or sh where there is none, read ``command``."""
    shell = "/bin/bash" if Path("/bin/bash").exists() else shutil.which("bash", path=environ.get("PATH"))
    return [shell or "/bin/sh", "-c", command]


class _Output:
    """What a command prints: passed on as text, and its first and last bytes kept in constant memory."""

    def __init__(self, limit: int, emit: Callable[[str], None] | None, errors: str) -> None:
        self._emit, self._errors = emit, errors
        self._head_size = limit * 6 // 10
        self._tail_size = limit - self._head_size
        self._head, self._tail, self._total = bytearray(), bytearray(), 0

    async def copy(self, fd: int) -> None:
        """Take everything from the pipe ``fd`` until its end, and close it."""
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", 0)
        )
        decoder = codecs.getincrementaldecoder("utf-8")(self._errors)
        try:
            while chunk := await reader.read(_CHUNK):
                self._keep(chunk)
                self._pass_on(decoder.decode(chunk))
            self._pass_on(decoder.decode(b"", final=True))
        finally:
            transport.close()

    def add_line(self, line: str) -> None:
        """Add a line of Marvin's own after all that was printed."""
        printed = self._tail or self._head
        text = f"{line}\n" if not printed or printed.endswith(b"\n") else f"\n{line}\n"
        self._keep(text.encode())
        self._pass_on(text)

    def kept(self) -> tuple[str, int]:
        """The text, and how many bytes were left out of its middle."""
        tail = self._tail[max(0, len(self._tail) - self._tail_size) :]
        if len(self._head) + len(tail) == self._total:
            return (self._head + tail).decode("utf-8", self._errors), 0
        decoder = codecs.getincrementaldecoder("utf-8")(self._errors)
        head = decoder.decode(bytes(self._head))
        split = len(decoder.getstate()[0])
        start = next((index for index, byte in enumerate(tail[:3]) if byte & 0xC0 != 0x80), min(3, len(tail)))
        omitted = self._total - len(self._head) - len(tail) + split + start
        gap = "" if head.endswith("\n") or not head else "\n"
        return f"{head}{gap}[… {omitted} bytes omitted …]\n{tail[start:].decode('utf-8', self._errors)}", omitted

    def _pass_on(self, text: str) -> None:
        if text and self._emit:
            self._emit(text)

    def _keep(self, chunk: bytes) -> None:
        self._total += len(chunk)
        room = self._head_size - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > self._tail_size + _CHUNK:
            del self._tail[: len(self._tail) - self._tail_size]


async def _start(
    argv: Sequence[str], cwd: int | Path, environ: Mapping[str, str], pass_fds: Sequence[int]
) -> tuple[asyncio.subprocess.Process, int]:
    """The running command and the end of the pipe that both its stdout and stderr write to."""
    read_end, write_end = os.pipe()
    with ExitStack() as failed:
        failed.callback(os.close, read_end)
        try:
            command = await asyncio.create_subprocess_exec(
                *argv,
                cwd=f"/proc/self/fd/{cwd}" if isinstance(cwd, int) else cwd,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                start_new_session=True,
                pass_fds=pass_fds,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise ToolError(f"The command cannot be started: {argv[0]}: {reason}.") from error
        finally:
            os.close(write_end)
        failed.pop_all()
    return command, read_end


@contextmanager
def _guard(tag: str, environ: Mapping[str, str]) -> Generator[Callable[[int], None]]:
    """A small shell that kills the command when its pipe to Marvin breaks; the result tells it the command's pid.

    A kill -9 of Marvin leaves nobody else to do so: PR_SET_PDEATHSIG reaches the direct child only, and setting it
    needs code between fork and exec, which is unsafe with threads.
    """
    with subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "sh", tag],
        env={"PATH": environ.get("PATH", os.defpath)},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=0,
        bufsize=0,
    ) as shell:
        try:
            yield lambda pid: _tell(shell, pid)
        finally:
            shell.kill()


def _tell(shell: subprocess.Popen[bytes], pid: int) -> None:
    assert shell.stdin
    with suppress(BrokenPipeError):
        shell.stdin.write(f"{pid}\n".encode())
