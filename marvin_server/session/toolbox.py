"""What a session's tools know and change about the session itself: which toolsets are on, and what was used."""

from collections.abc import Callable, Mapping, Sequence

from marvin_server.messages import ToolSpec
from marvin_server.session.store import Store
from marvin_server.session.usage import Tally
from marvin_server.tools.base import ToolEntry
from marvin_server.tools.registry import Registry


class SessionToolbox:
    """The ``tools.base.Toolbox`` of one session. ``wanted`` is the setting ``tools``; ``cwd`` is where it works;
    ``readonly`` says whether nothing may be changed at the moment."""

    def __init__(
        self,
        registry: Registry,
        tally: Tally,
        wanted: Sequence[str],
        store: Store,
        cwd: str,
        *,
        readonly: Callable[[], bool],
    ) -> None:
        self._registry = registry
        self._tally = tally
        self._store = store
        self._cwd = cwd
        self._active = list(registry.select(wanted))
        self._readonly = readonly

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
        """Tokens and money of this session so far."""
        return self._tally.report()

    def search_history(self, query: str) -> list[str]:
        """What was said in sessions of this workspace, the best fit first; never in those of another one."""
        return [
            f"session {hit.session_id} ({hit.title or 'untitled'}): {hit.snippet}"
            for hit in self._store.catalogue.search(query, cwd=self._cwd)
        ]
