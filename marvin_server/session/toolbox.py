"""What a session's tools know and change about the session itself: which toolsets are on, and what was used."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from marvin_server.errors import ToolError
from marvin_server.messages import ToolSpec
from marvin_server.session.store import Store
from marvin_server.tools.base import ToolEntry
from marvin_server.tools.registry import Registry

if TYPE_CHECKING:
    from marvin_server.session.skills import Skill


class SessionToolbox:
    """The ``tools.base.Toolbox`` of one session. ``wanted`` is the setting ``tools``; ``cwd`` is where it works;
    ``readonly`` says whether nothing may be changed at the moment."""

    def __init__(
        self,
        registry: Registry,
        session_id: str,
        wanted: Sequence[str],
        store: Store,
        cwd: str,
        *,
        readonly: Callable[[], bool],
        skills: "Callable[[], Mapping[str, Skill]]",
        compact: Callable[[str], None],
    ) -> None:
        self._registry = registry
        self._session_id = session_id
        self._store = store
        self._cwd = cwd
        self._active = list(registry.select(wanted))
        self._readonly = readonly
        self._skills = skills
        self._compact = compact

    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools that the model may call now; a toolset that was switched on later comes last."""
        return self._registry.specs(self._active, readonly=self._readonly())

    def others(self) -> Mapping[str, str]:
        """The toolsets that are not on, with one line on each."""
        return {name: line for name, line in self._registry.toolsets().items() if name not in self._active}

    def find_tools(self, query: str) -> str:
        """Switch on the toolsets with a tool that has a word of ``query`` in its name or description."""
        words = query.lower().replace("_", " ").split()
        others = self.others()

        def fits(entry: ToolEntry) -> bool:
            text = f"{entry.toolset} {entry.name} {entry.description}".lower()
            return entry.toolset in others and any(word in text for word in words)

        found = list(dict.fromkeys(entry.toolset for entry in self._registry.entries.values() if fits(entry)))
        self._active += found
        if found:
            lines = [
                f"- {entry.name} ({entry.toolset}): {entry.description.partition(chr(10))[0]}"
                for entry in self._registry.entries.values()
                if entry.toolset in found
            ]
            return "\n".join(["Switched on; call them from the next round on:", *lines])
        if others:
            return "\n".join(["No tool fits. Toolsets that are not on:", *(f"- {n}: {o}" for n, o in others.items())])
        return "Every toolset is on already."

    def switch_on(self, wanted: Sequence[str]) -> None:
        """Switch on the toolsets that ``wanted`` means, as the setting ``tools`` does."""
        self._active += [name for name in self._registry.select(wanted) if name not in self._active]

    def usage(self) -> str:
        """Tokens and money of this session and of all of them, so far."""
        return self._store.spending.report(self._session_id)

    def skill(self, name: str, file: str | None) -> str:
        """The text of a skill, or of another file of it. Raises ``ToolError``."""
        skills = self._skills()
        if name not in skills:
            raise ToolError(f"There is no skill called {name[:100]!r}. There are: {', '.join(skills) or 'none'}.")
        skill = skills[name]
        if file is not None:
            return skill.file(file)
        files = skill.files()
        more = f"\n\n[Other files of this skill, for read_skill with `file`: {', '.join(files)}]" if files else ""
        return f"[skill {name}, in {skill.place}]\n\n{skill.text}{more}"

    def compact(self, focus: str) -> str:
        """Have older messages summarised before the next request."""
        self._compact(focus)
        return "A summary takes the place of older messages before your next request, if there are any."

    def search_history(self, query: str) -> list[str]:
        """What was said in sessions of this workspace, the best fit first, never in those of another one; then what
        tools returned in this one before its latest summary."""
        said = [
            f"session {hit.session_id} ({hit.title or 'untitled'}): {hit.snippet}"
            for hit in self._store.catalogue.search(query, cwd=self._cwd, within=self._session_id)
        ]
        return [*said, *self._store.compactions.search(self._session_id, query.split())]
