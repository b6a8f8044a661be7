"""llama.cpp's server as a process of its own, from the wheel of xllamacpp. A script: it imports nothing of Marvin.

Standard input: one line of JSON, ``{"model": path, "name": …, "context": tokens, "key": …}``, and then nothing; the
process ends when its other end closes, however its owner came to its end. Standard output: one line, the address, once
requests are answered. Standard error: what llama.cpp finds wrong.
"""

import importlib
import json
import os
import sys
import threading
from typing import Any


def main() -> None:
    """Serve until standard input closes."""
    wanted: dict[str, Any] = json.loads(sys.stdin.buffer.readline())
    announce = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _end_with_owner()
    engine = importlib.import_module("xllamacpp")
    params = engine.CommonParams()
    params.model.path = wanted["model"]
    params.model_alias = {wanted["name"]}
    params.api_keys = [wanted["key"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    # The engine itself lowers this to what the model was trained for.
    params.n_ctx = wanted["context"]
    params.n_parallel = 1
    params.offline = True
    params.verbosity = 1
    server = engine.Server(params)
    os.write(announce, f"{server.listening_address}\n".encode())
    os.close(announce)
    threading.Event().wait()


def _end_with_owner() -> None:
    """See to it that this process ends as soon as standard input closes.

    The engine holds Python's lock while it loads a model, so that no thread runs. Where the system can, it is asked to
    end the process with a signal (``O_ASYNC``, ``SIGIO``); elsewhere a thread does so once the model is loaded.
    """
    if sys.platform == "linux":
        import fcntl

        fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    threading.Thread(target=_wait_for_end, daemon=True).start()


def _wait_for_end() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
