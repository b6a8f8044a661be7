"""How VS Code is set up for tests, and how Marvin in it finds the scripted model."""

import os
from collections.abc import Mapping
from typing import Any

from tests.servers.model_server import ThreadedModelServer
from tests.vscode.code_server import MARVIN

SETTINGS: Mapping[str, Any] = {
    "marvin.command": [str(MARVIN), "lsp"],
    "security.workspace.trust.enabled": False,
    "workbench.startupEditor": "none",
    "window.autoDetectColorScheme": True,
    "files.autoSave": "off",  # as on a desktop: in a browser VS Code saves by itself
    "git.openRepositoryInParentFolders": "never",
}


def environ(model: ThreadedModelServer) -> dict[str, str]:
    """The environment of a code-server whose Marvin talks to ``model``."""
    return {
        "PATH": os.environ["PATH"],
        "LLM_PROVIDER": "openai-compat",
        "OPENAI_COMPAT_URL": model.url,
        "OPENAI_COMPAT_API_KEY": "sk-test",
        "OPENAI_COMPAT_MODEL": "test-model",
    }
