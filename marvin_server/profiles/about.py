"""What a model is told of a person: their profile's name, preferences and saved places."""

from contextlib import suppress

from marvin_server.errors import MarvinError
from marvin_server.profiles import preferences
from marvin_server.profiles.profile import DEFAULT, Profile
from marvin_server.sanitise import one_line


def about(profile: Profile) -> str:
    """A line for each thing that the person has written for the model, often none. What cannot be read says nothing:
    the terminal, which is where it is mended, tells the person."""
    lines = [f"- profile: {profile.name}"] if profile.name != DEFAULT else []
    with suppress(OSError, ValueError):
        liked, _ = preferences.parse(profile.preferences_file.read_bytes().decode("utf-8-sig"))
        lines += [f"- {name}: {_shown(value)}" for name, value in liked.about.items()]
    with suppress(MarvinError):
        lines += [f"- saved place {place.label}: {place.name}, {place.address}" for place in profile.places.read()]
    return "\n".join(map(one_line, lines))


def _shown(value: object) -> str:
    """A YAML value in a few words."""
    if isinstance(value, list):
        return ", ".join(map(str, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return str(value)
