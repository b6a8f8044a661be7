"""Questions about real packages, each with the files that hold the answer, put to the offline provider."""

import re
import shutil
import sysconfig
from pathlib import Path

import pytest

from tests.providers.offline_run import Desk

QUOTED = 3
_QUOTE = r"(?m)^`([^`\n]+):(\d+)`(?: \(see line \d+\))?\n\n`{3,}\w*\n(.*)$"
WANTED_SHARE = 0.8
QUESTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("httpx", "where are the status codes defined?", ("_status_codes.py",)),
    ("httpx", "how does digest authentication work?", ("_auth.py",)),
    ("httpx", "which file decodes gzip responses?", ("_decoders.py",)),
    ("httpx", "where is the default timeout?", ("_config.py",)),
    ("httpx", "how are redirects followed?", ("_client.py",)),
    ("httpx", "which exceptions can be raised on timeouts?", ("_exceptions.py",)),
    ("httpx", "where are proxies read from the environment?", ("_utils.py",)),
    ("httpx", "how is multipart form data encoded?", ("_multipart.py",)),
    ("httpx", "show me the class URLPattern", ("_utils.py",)),
    ("httpx", "where are cookies stored", ("_models.py",)),
    ("httpx", "how does percent encoding work", ("_urlparse.py",)),
    ("httpx", "where is the ASGI transport", ("_transports/asgi.py",)),
    ("httpx", "what decides how many connections are kept alive?", ("_config.py",)),
    ("httpx", "how is the encoding of a response guessed?", ("_models.py",)),
    ("hypothesis", "where is the example database stored on disk?", ("database.py",)),
    ("hypothesis", "how does shrinking of integers work?", ("internal/conjecture/shrinking/integer.py",)),
    ("hypothesis", "where are the health checks defined?", ("_settings.py",)),
    ("hypothesis", "how are strategies for regular expressions built?", ("strategies/_internal/regex.py",)),
    ("hypothesis", "which file implements stateful testing", ("stateful.py",)),
    ("hypothesis", "how is a strategy inferred from type hints", ("strategies/_internal/types.py",)),
    ("hypothesis", "where is deadline exceeded raised", ("core.py", "errors.py")),
    ("hypothesis", "how does the ghostwriter write tests", ("extra/ghostwriter.py",)),
    (
        "hypothesis",
        "where are floats encoded lexicographically",
        ("internal/floats.py", "internal/conjecture/floats.py"),
    ),
    ("hypothesis", "where is Unsatisfied defined", ("errors.py",)),
    ("_pytest", "how is tmp_path created?", ("tmpdir.py",)),
    ("_pytest", "where are assertions rewritten?", ("assertion/rewrite.py",)),
    ("_pytest", "how does capturing of stdout work", ("capture.py",)),
    ("_pytest", "where are the exit codes defined?", ("config/__init__.py",)),
    ("_pytest", "how does the last failed option work?", ("cacheprovider.py",)),
    ("_pytest", "where is monkeypatch.setenv", ("monkeypatch.py",)),
    ("_pytest", "how are fixtures torn down", ("fixtures.py",)),
    ("_pytest", "how are the slowest test durations reported", ("runner.py",)),
    ("_pytest", "where is the junit xml report written", ("junitxml.py",)),
    ("_pytest", "how does skipif evaluate its condition", ("skipping.py",)),
    ("_pytest", "where are ini files found?", ("config/findpaths.py",)),
    ("_pytest", "how does approx compare floats", ("approx.py",)),
    ("pydantic", "where is the email validator", ("networks.py",)),
    ("pydantic", "how is the JSON schema generated", ("json_schema.py",)),
    ("pydantic", "how are alias generators applied?", ("alias_generators.py", "aliases.py")),
    ("pydantic", "where is the computed_field decorator", ("fields.py",)),
    ("pydantic", "how are forward references resolved", ("_internal/_typing_extra.py", "_internal/_generics.py")),
    ("pydantic", "where is SecretStr defined?", ("types.py",)),
    ("pydantic", "how does validate_call work", ("validate_call_decorator.py", "_internal/_validate_call.py")),
    ("pydantic", "which file defines the ConfigDict?", ("config.py",)),
    ("pydantic", "where are dataclasses processed", ("dataclasses.py", "_internal/_dataclasses.py")),
    ("pydantic", "what is a RootModel", ("root_model.py",)),
    ("httpx", "where does the client build the request?", ("_client.py",)),
    ("httpx", "how are query parameters merged into the URL?", ("_urls.py", "_models.py", "_client.py")),
    ("httpx", "where is netrc authentication?", ("_auth.py",)),
    ("httpx", "what happens when there are too many redirects?", ("_client.py", "_exceptions.py")),
    ("httpx", "where is the WSGI transport implemented", ("_transports/wsgi.py",)),
    ("httpx", "how does MockTransport work", ("_transports/mock.py",)),
    ("httpx", "which function creates the SSL context?", ("_config.py",)),
    ("httpx", "where is the command line interface?", ("_main.py",)),
    ("httpx", "find where the user agent header is set", ("_client.py",)),
    ("httpx", "how is raise_for_status done", ("_models.py",)),
    (
        "hypothesis",
        "where are binary strategies defined",
        ("strategies/_internal/core.py", "strategies/_internal/strings.py"),
    ),
    (
        "hypothesis",
        "how do I sample from a list of elements?",
        ("strategies/_internal/core.py", "strategies/_internal/misc.py", "strategies/_internal/strategies.py"),
    ),
    ("hypothesis", "how does the pareto front work", ("internal/conjecture/pareto.py",)),
    ("hypothesis", "where is numpy dtype support", ("extra/numpy.py",)),
    ("hypothesis", "where are settings profiles registered", ("_settings.py",)),
    ("hypothesis", "how are datetimes generated", ("strategies/_internal/datetime.py",)),
    ("hypothesis", "what does the charmap cache do", ("internal/charmap.py",)),
    ("hypothesis", "where is the reproduce_failure decorator", ("core.py",)),
    ("hypothesis", "how are domains and urls generated", ("provisional.py",)),
    ("_pytest", "where are markers parsed into expressions", ("mark/expression.py",)),
    ("_pytest", "how are log records captured", ("logging.py",)),
    ("_pytest", "where is the terminal summary printed", ("terminal.py",)),
    ("_pytest", "how are doctests collected", ("doctest.py",)),
    ("_pytest", "how does pytest.raises check the exception", ("raises.py", "python_api.py", "_code/code.py")),
    ("_pytest", "where are unraisable exceptions turned into warnings", ("unraisableexception.py",)),
    ("_pytest", "which file implements faulthandler support", ("faulthandler.py",)),
    ("_pytest", "how is the pastebin url created", ("pastebin.py",)),
    ("pydantic", "where are discriminated unions resolved", ("_internal/_discriminated_union.py",)),
    ("pydantic", "where is PostgresDsn", ("networks.py",)),
    ("pydantic", "how does model_copy work", ("main.py",)),
    ("pydantic", "where are serializers for fields declared", ("functional_serializers.py",)),
    ("pydantic", "how are mypy plugin errors reported?", ("mypy.py",)),
    (
        "pydantic",
        "where are private attributes collected",
        ("_internal/_model_construction.py", "fields.py", "main.py"),
    ),
    ("pydantic", "what is a TypeAdapter", ("type_adapter.py",)),
    ("pydantic", "how is the signature of a model generated", ("_internal/_signature.py",)),
    ("pydantic", "where are deprecation warnings defined", ("warnings.py",)),
)


@pytest.mark.parametrize("package", sorted({package for package, _, _ in QUESTIONS}))
async def test_the_file_that_holds_the_answer_is_quoted_for_most_questions(package: str, tmp_path: Path) -> None:
    installed = Path(sysconfig.get_path("purelib")) / package
    shutil.copytree(installed, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__", "*.so", "v1"))
    desk = Desk(tmp_path / package)
    questions = [(question, wanted) for about, question, wanted in QUESTIONS if about == package]
    missed: list[str] = []
    for question, wanted in questions:
        run = await desk.ask(question)
        assert len(run.rounds) == 2
        quoted = [str(arguments["path"]) for name, arguments in run.rounds[-1] if name == "read_file"]
        assert len(quoted) <= QUOTED
        for path, line, first in re.findall(_QUOTE, run.answer):
            assert (tmp_path / package / path).read_text().split("\n")[int(line) - 1] == first
        if not set(wanted) & set(quoted):
            missed.append(f"{question} -> {quoted}, not {wanted}")
    assert len(missed) <= (1 - WANTED_SHARE) * len(questions), "\n".join(missed)
