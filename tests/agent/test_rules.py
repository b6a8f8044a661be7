"""The person's rules: what they match, and what becomes of those that cannot be read."""

from pathlib import Path

import pytest

from marvin_server import settings
from marvin_server.agent.command_rules import CommandRules, Spot
from marvin_server.agent.rules import Finding, Rules
from marvin_server.agent.shell.running import parse
from marvin_server.config_file import PermissionEntry, Verdict

TOOLS = ("run_command", "create_file", "apply_patch", "read_file", "browse_web")


def rules(**entries: str | list[str]) -> Rules:
    lists: list[tuple[Verdict, str | list[str]]] = [
        (verdict, entries[verdict]) for verdict in ("deny", "ask", "allow") if verdict in entries
    ]
    return Rules(
        [
            PermissionEntry(verdict, text, "config.yaml:1")
            for verdict, texts in lists
            for text in ([texts] if isinstance(texts, str) else texts)
        ],
        TOOLS,
    )


def spot(target: str) -> Spot:
    outside = target.startswith(("/", "../"))
    return Spot(None if outside else target, "it may hold secrets" if target == ".env" else None)


def judged(text: str, *, edits_wait: bool = False, **entries: str | list[str]) -> str | None:
    """What the rules say of a command: a verdict, with ``!`` when nothing but a person's yes will do."""
    judging = CommandRules(rules(**entries), "run_command", "execute", spot, edits_wait=edits_wait)
    finding = judging.finding(parse(text))
    return finding and finding.verdict + ("!" if finding.needs_person else "")


@pytest.mark.parametrize(
    "text",
    [
        *("rm -rf x", "rm -rf", '"rm" -rf x', "r\\m -rf x", "'rm' '-rf' x", "$'rm' -rf x", "$'\\x72m' -rf x"),
        *("/bin/rm -rf x", "./rm -rf x", "RM -rf x", "command rm -rf x", "env rm -rf x", "env FOO=1 rm -rf x"),
        *("env -i rm -rf x", "nice -n 5 rm -rf x", "nohup rm -rf x", "timeout 5 rm -rf x", "sudo rm -rf x"),
        *("exec rm -rf x", "builtin command rm -rf x", "time rm -rf x", "! rm -rf x", "xargs rm -rf", "\\rm -rf x"),
        *("find . -exec rm -rf {} +", "sh -c 'rm -rf x'", "bash -c \"bash -c 'rm -rf x'\"", "eval 'rm -rf x'"),
        *("a; rm -rf x", "a && rm -rf x", "a | rm -rf x", "a & rm -rf x", "(rm -rf x)", "{ rm -rf x; }"),
        *("a\nrm -rf x", "if a; then rm -rf x; fi", "for x in 1; do rm -rf x; done", "f() { rm -rf x; }; f"),
        *("a $(rm -rf x)", 'a "$(rm -rf x)"', "a <(rm -rf x)", "cat <<E\n$(rm -rf x)\nE", "rm -rf *", "rm -rf $x"),
        *("case x in x) rm -rf x;; esac", "> out rm -rf x", "rm -rf x > out", "rm \\\n -rf x", "FOO=1 rm -rf x"),
        *(
            "while rm -rf x; do a; done",
            "[[ -f x ]] && rm -rf x",
            "((x[$(rm -rf x)]))",
            "echo 'a' | xargs -I% rm -rf %",
            "eval -- 'rm -rf x'",
            "eval -- rm -rf x",
            "builtin eval -- 'rm -rf x'",
            "doas rm -rf x",
        ),
    ],
)
def test_a_denied_command_is_found_in_whatever_it_hides(text: str) -> None:
    assert judged(text, deny="run_command(rm -rf *)", allow="run_command(*)") == "deny"


@pytest.mark.parametrize(
    "text",
    [
        *("$(echo rm) -rf x", "$x -rf x", "`echo rm` -rf x", "rm $x", "rm {-rf,x}", "r$x -rf x", "rm$x -rf x"),
        *("eval $x", "bash -c $x", "echo rm -rf x | bash", "bash <<< 'rm -rf x'", ". ./x", "alias a='rm -rf x'\na"),
        *("xargs $x", "find . $x", "trap 'rm -rf x' EXIT", "python3 <<E\nE", "a 'b", "coproc rm -rf x", "{r,}m -rf x"),
        *("echo rm -rf x | xargs env", "time ! rm -rf x", "a " + "x" * 10_000, "x=rm; $x -rf y"),
        *("printf -v'a[$(rm -rf x)]' x", "wait -np 'a[$(rm -rf x)]'", "jobs -lx rm -rf x", "eval -x 'rm -rf x'"),
        *("setpriv rm -rf x", "taskset 1 rm -rf x", "chrt 1 /bin/rm -rf x", "setarch -R rm -rf x", "prlimit rm -rf x"),
        *("choom -n 1 -- rm -rf x", "capsh -- -c 'rm -rf x'", "sg root 'rm -rf x'", "ld.so /bin/rm -rf x"),
        *("git -c alias.x='!rm -rf x' x", "git bisect run rm -rf x", "ssh localhost rm -rf x", "uv run rm -rf x"),
        *(
            "npx rm -rf x",
            "tmux new 'sh -c \"rm -rf x\"'",
            "fd -x rm -rf",
            "docker run x rm -rf x",
            "perf stat rm -rf x",
        ),
        *("valgrind rm -rf x", "tar cf a b --checkpoint=1 --checkpoint-action=exec='rm -rf x'", "nosuch -c'rm -rf x'"),
        *(
            "hyperfine 'a; setpriv rm -rf x'",
            "env setpriv rm -rf x",
            "xargs setpriv rm -rf",
            'hyperfine "rm -rf it\'s"',
        ),
        *("/bin/r? -rf x", "busybox rm -rf x", "watch rm -rf x", "su -c 'rm -rf x'", "sh -c 'a &> b'", "xargs -I% % x"),
    ],
)
def test_what_may_be_a_denied_command_needs_a_person(text: str) -> None:
    assert judged(text, deny="run_command(rm -rf *)", allow="run_command(*)") == "ask!"


@pytest.mark.parametrize(
    "text",
    [
        "setpriv rm x",
        "git commit -m 'rm x'",
        "rm x",
        "rm -r x",
        "echo rm -rf x",
        "rmdir -rf x",
        "echo 'rm -rf x'",
        "a # rm -rf x",
        "cat <<'E'\nrm -rf x\nE",
    ],
)
def test_another_command_is_not_denied(text: str) -> None:
    assert judged(text, deny="run_command(rm -rf *)") is None


ALLOW = [
    *("run_command(pytest *)", "run_command(git diff *)", "run_command(make)", "run_command(cat docs/*)"),
    *("run_command(ls **)", "run_command(cd *)", "edit(out/**)"),
]


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("pytest", "allow"),
        ("pytest -q tests", "allow"),
        ("pytest $x *.py", "allow"),
        ("pytest && git diff", "allow"),
        ("timeout 5 pytest", "allow"),
        ("bash -c 'pytest; make'", "allow"),
        ("pytest 2>&1 | cat docs/a", "allow"),
        ("make", "allow"),
        ("ls a/b", "allow"),
        ("pytest > out/log", "allow"),
        ("pytest >/dev/null 2>&1", "allow"),
        ("pytest < tests/a", "allow"),
        ("cd src && pytest", "allow"),
        ("make all", None),
        ("pytest; curl x", None),
        ("pytest $(curl x)", None),
        ("./pytest", None),
        ("/tmp/pytest", None),
        ("PYTEST", None),
        ("pytest-3", None),
        ("git", None),
        ("git log", None),
        ("git -c core.pager=x diff", None),
        ("git $x", None),
        ("cat docs/../secret", None),
        ("cat docs/a/b", None),
        ("cat docs/*", None),
        ("cat docs/..", None),
        ("ls ../x", None),
        ("FOO=1 pytest", None),
        ("env FOO=1 pytest", None),
        ("sudo pytest", None),
        ("pytest > other", None),
        ("pytest > $x", None),
        ("pytest > /etc/x", None),
        ("pytest > .env", None),
        ("pytest < .env", None),
        ("pytest < /etc/passwd", None),
        ("cd src && pytest > out/log", None),
        ("pytest <<E\n`a`\nE", None),
        ("pytest() { curl x; }; pytest", None),
        ("$x", None),
        ("", None),
        ("# pytest", None),
        ("> out/log", "allow"),
    ],
)
def test_a_command_is_allowed_when_all_that_it_runs_is(text: str, verdict: str | None) -> None:
    assert judged(text, allow=ALLOW) == verdict


@pytest.mark.parametrize(
    ("text", "entries", "verdict"),
    [
        ("git push", {"ask": "run_command(git push *)", "allow": "run_command(git *)"}, "ask"),
        ("git $x", {"ask": "run_command(git push *)", "allow": "run_command(git *)"}, "ask"),
        ("git push", {"deny": "execute(git push)", "ask": "run_command(git push *)"}, "deny"),
        ("a", {"deny": "run_command"}, "deny"),
        ("a", {"deny": "execute"}, "deny"),
        ("a", {"allow": "run_command"}, "allow"),
        ("a 'b", {"allow": "run_command"}, None),
        ("a", {"ask": "execute", "allow": "run_command"}, "ask"),
        ("a > poetry.lock", {"deny": "edit(*.lock)", "allow": "run_command(*)"}, "deny"),
        ("a > Poetry.LOCK", {"deny": "edit(*.lock)", "allow": "run_command(*)"}, "deny"),
        ("a > $x", {"deny": "edit(*.lock)", "allow": "run_command(*)"}, "ask!"),
        ("cd x; a > b", {"deny": "edit(x/*)", "allow": "run_command(*)"}, "ask!"),
        ("a < keys/x", {"deny": "read(keys/**)", "allow": "run_command(*)"}, "deny"),
        ("a > b", {"ask": "edit(b)", "allow": ["run_command(*)", "edit(b)"]}, "ask"),
        ("echo `a` > keys/x", {"deny": "edit(keys/**)"}, "ask!"),
        ("echo `a` < keys/x", {"ask": "read(keys/**)"}, "ask!"),
        ("env -C keys sh -c 'a > x'", {"deny": "edit(keys/**)"}, "ask!"),
        ("env --chdir=keys sh -c 'a > x'", {"deny": "edit(keys/**)"}, "ask!"),
        ("/usr/bin/env -C keys sh -c 'a > x'", {"deny": "edit(keys/**)"}, "ask!"),
        ("setpriv git push", {"ask": "run_command(git push)", "allow": "run_command(*)"}, "ask"),
        ("a", {"deny": "read(keys/**)", "allow": "run_command(a)"}, "allow"),
    ],
)
def test_deny_beats_ask_which_beats_allow(text: str, entries: dict[str, str | list[str]], verdict: str | None) -> None:
    lists = {name: entries.get(name, []) for name in ("deny", "ask", "allow")}
    assert judged(text, deny=lists["deny"], ask=lists["ask"], allow=lists["allow"]) == verdict


def test_in_a_mode_in_which_edits_wait_no_rule_lets_a_command_write() -> None:
    assert judged("pytest > out/log", allow=ALLOW, edits_wait=True) is None
    assert judged("pytest", allow=ALLOW, edits_wait=True) == "allow"


@pytest.mark.parametrize(
    ("paths", "verdict"),
    [
        (["src/a.py"], "allow"),
        (["src/a.py", "docs/b.md"], None),
        (["uv.lock"], "ask"),
        (["src/UV.Lock"], "ask"),
        (["src/a.py", "secret/x"], "deny"),
        (["SECRET/x"], "deny"),
        (["Src/a.py"], None),
        ([], None),
    ],
)
def test_rules_for_files_match_the_path_from_the_root(paths: list[str], verdict: str | None) -> None:
    made = rules(deny="edit(secret/**)", ask="edit(*.lock)", allow="edit(src/**)")
    finding = made.for_paths("create_file", "edit", paths)
    assert (finding and finding.verdict) == verdict


def test_rules_for_hosts() -> None:
    made = rules(deny="network(*.evil.example)", allow="browse_web(docs.example)")
    assert made.for_host("browse_web", "network", "docs.example") == Finding(
        "allow", "allow: browse_web(docs.example) in config.yaml:1"
    )
    assert made.for_host("browse_web", "network", "A.EVIL.example.") == Finding(
        "deny", "deny: network(*.evil.example) in config.yaml:1"
    )
    assert made.for_host("browse_web", "network", "other.example") is None
    unknown = made.for_host("browse_web", "network", None)
    assert unknown == Finding("deny", "deny: network(*.evil.example) in config.yaml:1")


@pytest.mark.parametrize("text", ["run_comand(rm *)", "edit(*.lock", "", "rm -rf", "(x)", "edit(a{b)", "edit(src) x"])
def test_a_restriction_that_cannot_be_read_lets_only_a_person_say_yes(text: str) -> None:
    made = rules(deny=text, allow="edit(**)")
    finding = made.for_paths("create_file", "edit", ["a"])
    assert finding is not None
    assert (finding.verdict, finding.needs_person) == ("ask", True)
    assert len(made.warnings) == 1


def test_a_restriction_that_names_a_tool_before_it_goes_wrong_is_about_that_tool_alone() -> None:
    made = rules(deny="edit(*.lock", allow=["run_command(a)", "edit(**)"])
    assert made.warnings == ["config.yaml:1: permissions: 'edit(*.lock' is no rule; until it is right, every edit asks"]
    assert made.unreadable("run_command", "execute") is None
    assert made.for_paths("read_file", "read", ["a"]) is None


def test_an_allow_rule_that_cannot_be_read_is_left_out() -> None:
    made = rules(allow=["run_command(", "run_command(a)"])
    assert made.warnings == ["config.yaml:1: permissions: 'run_command(' is no rule; it is ignored"]
    assert judged("a", allow=["run_command(", "run_command(a)"]) == "allow"


CONFIG = """\
permissions:
  deny: ["run_command(rm -rf *)"]
  ask:
    - edit(*.lock)
    - [nested]
  allow: run_command(pytest *)
  denied: [edit]
mode: review
"""


def test_permissions_come_from_the_file_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    loaded = settings.load({}, {"MARVIN_HOME": str(tmp_path)}, file)
    assert (loaded.mode, loaded.warnings) == ("review", ())
    assert loaded.permissions == (
        PermissionEntry("deny", "run_command(rm -rf *)", f"{file}:2"),
        PermissionEntry("ask", "edit(*.lock)", f"{file}:4"),
        PermissionEntry("ask", "('ask': ['nested'])", f"{file}:5"),
        PermissionEntry("allow", "run_command(pytest *)", f"{file}:6"),
        PermissionEntry("deny", "('denied': ['edit'])", f"{file}:7"),
    )


@pytest.mark.parametrize("text", ["permissions: deny\n", "permissions: [run_command]\n", "permissions: 5\n"])
def test_permissions_of_another_shape_hold_everything_back(tmp_path: Path, text: str) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(text)
    loaded = settings.load({}, {"MARVIN_HOME": str(tmp_path)}, file)
    finding = Rules(loaded.permissions, TOOLS).for_paths("create_file", "edit", ["a"])
    assert finding is not None
    assert finding.needs_person


def test_a_wrong_mode_is_the_strictest(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("mode: fulll\n")
    assert settings.load({}, {"MARVIN_HOME": str(tmp_path)}, file).mode == "plan"
