"""Skills: which there are, which count, and how a model reads one."""

from pathlib import Path

import pytest

from marvin_server.errors import ToolError
from marvin_server.messages import ToolResult
from marvin_server.session import project, skills
from marvin_server.session.trust import Acceptances
from marvin_server.workspace.confine import Root
from tests.agent.scripted import Scripted, call
from tests.session.turns import Opener, finish


def write(folder: Path, name: str, text: str = "Do it well.", description: str = "When it is due.") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "SKILL.md"
    file.write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{text}\n")
    return file


def test_the_bundled_skills_are_valid_and_short_enough_to_be_read() -> None:
    found = skills.bundled()
    assert list(found) == ["find-the-cause", "review-changes", "write-a-skill"]
    folder = Path(skills.__file__).parent.parent / "skills"
    assert sorted(path.parent.name for path in folder.rglob("SKILL.md")) == list(found)
    for skill in found.values():
        assert len(skill.description) < 200
        assert len(skill.text) < 5_000


def test_a_persons_skills_are_found_at_some_depth_and_in_order(tmp_path: Path) -> None:
    write(tmp_path / "work/deploy", "deploy")
    write(tmp_path / "brew", "brew")
    write(tmp_path / "brew/inner", "inner")
    assert [list(each) for each in skills.of_person(tmp_path)] == [["brew", "deploy"], []]
    assert skills.of_person(tmp_path / "missing") == ({}, ())


@pytest.mark.parametrize(
    ("folder", "text", "why"),
    [
        ("a", "No front matter", "it needs a name and a description"),
        ("a", "---\nname: a\n---\n", "it needs a name and a description"),
        ("a", "---\nname: b\ndescription: d\n---\n", "it is called 'b', but its folder 'a'; they must be the same"),
        ("A_b", "---\nname: A_b\ndescription: d\n---\n", "its name must be lower-case letters"),
        ("a--b", "---\nname: a--b\ndescription: d\n---\n", "its name must be lower-case letters"),
        ("a" * 65, f"---\nname: {'a' * 65}\ndescription: d\n---\n", "its name must be lower-case letters"),
        ("a", "x" * 100_001, "it has more than 100,000 bytes"),
    ],
)
def test_a_skill_that_cannot_be_used_is_left_out_and_named(tmp_path: Path, folder: str, text: str, why: str) -> None:
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "SKILL.md").write_text(text)
    found, (problem,) = skills.of_person(tmp_path)
    assert found == {}
    assert f"{folder}/SKILL.md is left out: {why}" in problem


def test_a_projects_skills_are_read_beneath_its_root_and_no_further(tmp_path: Path) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside"
    write(root / ".marvin/skills/one", "one")
    write(root / ".claude/skills/two", "two")
    write(root / ".agents/skills/one", "one", description="Another one.")
    write(outside / "three", "three")
    (root / ".claude/skills/three").symlink_to(outside / "three")
    found = project.read(Root(root), ".")
    assert [file.path for file in found.files["skills"]] == [
        *(".marvin/skills/one/SKILL.md", ".claude/skills/two/SKILL.md", ".agents/skills/one/SKILL.md")
    ]
    assert [problem.partition(":")[0] for problem in found.problems] == [".claude/skills/three/SKILL.md is left out"]
    taken, _ = skills.of_project(found.files["skills"])
    assert {name: (skill.description, skill.place) for name, skill in taken.items()} == {
        "one": ("When it is due.", ".marvin/skills/one"),
        "two": ("When it is due.", ".claude/skills/two"),
    }


def test_other_files_of_a_skill_are_read_beneath_its_folder(tmp_path: Path) -> None:
    write(tmp_path / "brew", "brew")
    (tmp_path / "brew/times").mkdir()
    (tmp_path / "brew/times/green.md").write_text("Two minutes.")
    (tmp_path / "secret").write_text("hidden")
    (tmp_path / "brew/link").symlink_to(tmp_path / "secret")
    skill = skills.of_person(tmp_path)[0]["brew"]
    assert skill.files() == ["link", "times/green.md"]
    assert skill.file("times/green.md") == "Two minutes."
    for path in ("../secret", "link", str(tmp_path / "secret"), "missing"):
        with pytest.raises(ToolError):
            skill.file(path)


async def test_the_model_is_told_of_skills_and_reads_one_when_it_needs_it(opener: Opener, tmp_path: Path) -> None:
    write(tmp_path / "home/config/skills/brew", "brew", "Warm the pot first.", "Make tea.")
    (tmp_path / "home/config/skills/brew/times.md").write_text("Two minutes.")
    provider = Scripted(
        [call("read_skill", '{"name": "brew"}'), call("read_skill", '{"name": "brew", "file": "times.md"}')],
        [call("read_skill", '{"name": "bake"}')],
        ["Done."],
    )
    session = opener(provider).session
    events = session.subscribe()
    session.submit("Tea, please.")
    await finish(events)
    assert "\n- brew: Make tea.\n- find-the-cause: " in provider.requests[0].system
    assert "Warm the pot" not in provider.requests[0].system
    answered = [part for message in provider.requests[-1].history for part in message.parts]
    results = [part.text for part in answered if isinstance(part, ToolResult)]
    assert results[0].startswith("[skill brew, in ")
    assert results[0].endswith(
        "Warm the pot first.\n\n[Other files of this skill, for read_skill with `file`: times.md]"
    )
    assert results[1] == "Two minutes."
    assert "There is no skill called 'bake'. There are: brew, find-the-cause" in results[2]
    await session.close()


async def test_a_persons_skill_takes_the_place_of_a_bundled_and_of_a_projects_one(
    opener: Opener, workspace: Path, tmp_path: Path
) -> None:
    write(workspace / ".agents/skills/review-changes", "review-changes", description="The project's.")
    write(workspace / ".agents/skills/find-the-cause", "find-the-cause", description="The project's way.")
    write(tmp_path / "home/config/skills/review-changes", "review-changes", description="My own.")
    opened = opener(Scripted(), approve="none")
    await opened.context.settle(lambda _: None)
    assert opened.context.skills["review-changes"].description == "My own."
    assert opened.context.skills["find-the-cause"].place.endswith("marvin_server/skills/find-the-cause")
    found = project.read(Root(workspace), ".")
    accepted = opener(Scripted(), approve="none")
    Acceptances(tmp_path / "home/data/profiles/default/trust").add(found, "skills")
    await accepted.context.settle(lambda _: None)
    assert accepted.context.skills["review-changes"].description == "My own."
    assert accepted.context.skills["find-the-cause"].place == ".agents/skills/find-the-cause"
    for each in (opened, accepted):
        await each.session.close()
