"""What each way to start Marvin imports, as an allow-list: a module that is not named here costs every start."""

import os
import subprocess
import sys
from pathlib import Path

from tests.patience import SECONDS
from tests.servers.model_server import ThreadedModelServer
from tests.servers.scenarios import says

COMMAND = Path(sys.executable).with_name("marvin")
# What these need, every start may have.
STANDARD = (
    "import argparse, asyncio, concurrent.futures.thread, dataclasses, json, msgspec, pathlib, shutil, sqlite3, "
    "urllib.parse"
)
ALWAYS = {"marvin_cli", "marvin_cli.main", "marvin_cli.arguments", "marvin_server", "marvin_server.errors"}
ONE_SHOT = {
    *ALWAYS,
    *(f"marvin_cli.{name}" for name in ("noninteractive", "outcome", "output", "request", "stdout")),
    *(f"marvin_server.{name}" for name in ("events", "log", "messages", "paths", "sanitise", "settings")),
    *(f"marvin_server.{name}" for name in ("config_file", "model_settings", "setting_checks")),
    *(f"marvin_server.protocol{name}" for name in ("", ".wire")),
    *(
        f"marvin_server.session{name}"
        for name in ("", ".ledger", ".models", ".opening", ".prices", ".session", ".store")
    ),
    *(
        f"marvin_server.session.{name}"
        for name in (
            "catalogue",
            "context",
            "context_choices",
            "front_matter",
            "instructions",
            "skills",
            "database",
            "history",
            "lease",
            "published",
            "project",
            "prompts",
            "schema",
            "spending",
            "stamps",
            "steps",
            "subscription",
            "toolbox",
            "transcript",
            "trust",
            "usage",
        )
    ),
    *(
        f"marvin_server.agent{name}"
        for name in ("", ".calls", ".fitting", ".loop", ".permissions", ".prompt", ".recovery")
    ),
    *(f"marvin_server.agent.{name}" for name in ("gate", "judge", "repeats")),
    *(f"marvin_server.agent.{name}" for name in ("admission", "budget", "compactor", "model_requests")),
    *("marvin_server.session.compacting", "marvin_server.session.composition", "marvin_server.tokens"),
    *(f"marvin_server.providers{name}" for name in ("", ".base", ".keys", ".selection", ".vendors")),
    "marvin_server.providers.vendor_files",
    *(f"marvin_server.tools{name}" for name in ("", ".arguments", ".base", ".index", ".registry")),
    *(f"marvin_server.workspace{name}" for name in ("", ".beneath", ".confine", ".descendants", ".documents")),
    *(f"marvin_server.workspace.{name}" for name in ("listing", "names", "process", "workspace")),
    *(f"marvin_server.workspace.{name}" for name in ("encodings", "line_ranges", "orphans", "sandbox_session")),
}
H11 = ("_abnf", "_connection", "_events", "_headers", "_readers", "_receivebuffer", "_state", "_util", "_version")
WITH_MODEL = {
    *ONE_SHOT,
    *("h11", "h11._writers", *(f"h11.{name}" for name in H11)),
    *(f"marvin_server.providers.{name}" for name in ("connection", "content_coding", "direct", "faults")),
    "marvin_server.certificates",
    *(f"marvin_server.providers.{name}" for name in ("failures", "openai_body", "openai_calls", "openai_chat")),
    *(f"marvin_server.providers.{name}" for name in ("openai_reply", "sse", "transport", "wire_json")),
    *(f"marvin_server.providers.{name}" for name in ("answers", "draft", "past_calls")),
}


def imported(*words: str, **environ: str) -> set[str]:
    """The modules that a real run of the installed command has imported by its end, without the standard library's."""
    command = [sys.executable, "-X", "importtime", COMMAND, *words]
    done = subprocess.run(
        command, env={**os.environ, **environ}, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return modules(done.stderr) - modules(python("-X", "importtime", "-c", STANDARD))


def python(*words: str) -> str:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=SECONDS, check=True).stderr


def modules(importtime: str) -> set[str]:
    lines = (line for line in importtime.splitlines() if line.startswith("import time:"))
    return {line.rpartition("|")[2].strip() for line in lines}


def test_a_run_with_a_model_imports_only_what_it_needs(model_server: ThreadedModelServer) -> None:
    model_server.play([says("Hello")])
    found = imported(
        "--non-interactive",
        "--prompt",
        "Hello",
        LLM_PROVIDER="openai-compat",
        OPENAI_COMPAT_URL=model_server.url,
        OPENAI_COMPAT_MODEL="test-model",
    )
    assert found - WITH_MODEL == set()


def test_the_offline_provider_needs_no_http(repository: Path) -> None:
    found = imported("--non-interactive", "--prompt", "Where is total defined?", "--working-dir", str(repository))
    tops = {module.partition(".")[0] for module in found - ONE_SHOT}
    assert tops & {"h11", "httpx", "yaml", "genai_prices", "certifi", "platformdirs", "jsonschema"} == set()


def test_the_version_is_told_at_once() -> None:
    assert imported("--version") - ALWAYS == set()


def test_a_subcommand_imports_no_model_and_no_tool() -> None:
    found = imported("sessions", "list")
    assert {
        module for module in found if module.startswith(("marvin_server.providers", "marvin_server.tools"))
    } == set()
    assert {module.partition(".")[0] for module in found} & {"h11", "httpx", "pydantic", "genai_prices"} == set()
