"""What was said in a person's earlier conversations, in short, for the prompt of a new one."""

from marvin_server.sanitise import one_line
from marvin_server.session.store import Store

_MOST, _LONGEST = 20, 200  # messages, and characters of each


def lines(store: Store, session_id: str) -> tuple[str, ...]:
    """A line for each of the latest 20 messages before the session began, the oldest first. They are the same as long
    as the session lasts. Nothing that was said in coding mode is among them. Raises ``StoreError``."""
    recalled = store.catalogue.recalled(session_id, _MOST)[::-1]
    found = ((message.role, one_line(message.said, _LONGEST)) for message in recalled)
    return tuple(f"{'Person' if role == 'user' else 'Marvin'}: {text}" for role, text in found if text)
