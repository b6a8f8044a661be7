"""A conversation as a page for people."""

from marvin_cli.markdown import page

from marvin_server.messages import Image, Message, Text, Thinking, ToolCall, ToolResult
from marvin_server.session.store import SessionRecord


def test_a_markdown_export_reads_like_a_page() -> None:
    record = SessionRecord("id", "Sky", "/home/me/sky", "openai", "gpt-4o", "2026-01-01", "2026-01-02", None, None, 3)
    call = ToolCall("c", "read_file", '{"path": "a"}')
    history = [
        Message("user", (Text("Why?\n"), Image("image/png", "aGk="))),
        Message("assistant", (Thinking("Hm.\nWell."), Text("Look:"), call)),
        Message("tool", (ToolResult("c", "read_file", "```\ncode\n```\n"),)),
    ]
    assert page(record, history) == (
        "# Sky\n\n/home/me/sky · openai/gpt-4o · 2026-01-01\n\n"
        "## User\n\nWhy?\n\n*(an image, image/png)*\n\n"
        '## Assistant\n\n> Hm.\n> Well.\n\nLook:\n\n**read_file**\n\n```\n{"path": "a"}\n```\n\n'
        "read_file: ok\n\n````\n```\ncode\n```\n````\n"
    )
