"""An open question of another process, as text that shows all that a yes would cover."""

from marvin_server.sanitise import one_line, revealed
from marvin_server.session.questions import Question


def page(question: Question) -> str:
    """The question in lines. What hides from the eye is spelled out, so that nothing is approved unseen."""
    permission = question.permission
    lines = [
        f"Question {permission.id}, session {question.session_id}, {question.at[:19].replace('T', ' ')} UTC",
        f"  {permission.kind.replace('_', ' ')}: {one_line(revealed(permission.title))}",
        *_indented(permission.reason),
        f"  asked by: {one_line(revealed(permission.decided_by))}",
    ]
    if command := permission.command:
        lines += [f"  runs in {revealed(command.cwd)} by {revealed(command.shell)}:", *_indented(command.display, 4)]
        lines += [f"  with {revealed(f'{name}={value}')}" for name, value in command.env_changes.items()]
        for script in command.scripts:
            lines += [f"  script {revealed(script.path)}, changed in this session:", *_indented(script.text, 4)]
        if command.sandbox:
            lines.append(f"  confined by: {revealed(command.sandbox)}")
    if permission.diff:
        lines += ["  changes:", *_indented(permission.diff, 4)]
    if not permission.is_whole:
        lines.append("  not all that a yes covers can be shown: see the lines in brackets")
    options = "|".join(permission.options)
    return "\n".join([*lines, f"  marvin sessions questions --answer {permission.id} {options}"])


def _indented(text: str, width: int = 2) -> list[str]:
    return [f"{' ' * width}{revealed(line)}" for line in text.split("\n")]
