"""The tables of the store, and how a file of an older Marvin comes to have them."""

VERSION = 8
# See steps.py.
_STEPS = """CREATE TABLE checkpoints (
    id INTEGER PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions (id), turn_id TEXT NOT NULL,
    kind TEXT NOT NULL, root TEXT NOT NULL, before TEXT NOT NULL, after TEXT, at TEXT NOT NULL)"""
# See questions.py.
_QUESTIONS = """CREATE TABLE questions (
    id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions (id), at TEXT NOT NULL, permission TEXT NOT NULL,
    decision TEXT, decided_by TEXT, command TEXT, note TEXT, shown TEXT)"""
# See drafts.py.
_DRAFTS = """CREATE TABLE drafts (
    id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions (id), keeper TEXT NOT NULL, at TEXT NOT NULL,
    body TEXT NOT NULL)"""
_QUEUED = "ALTER TABLE drafts ADD COLUMN turn_id TEXT"
# See open_patches.py.
_PATCHES = (
    """CREATE TABLE patches (
        id TEXT PRIMARY KEY, session_id TEXT NOT NULL REFERENCES sessions (id), turn_id TEXT NOT NULL,
        root TEXT NOT NULL, at TEXT NOT NULL, is_made INTEGER NOT NULL, size INTEGER NOT NULL, open TEXT NOT NULL,
        rejected TEXT NOT NULL, body TEXT NOT NULL)""",
    "CREATE INDEX patches_by_session ON patches (session_id)",
)
# What refers to an entry, so that one is deleted without a look at all others.
_REFERENCES = (
    "CREATE INDEX entries_by_parent ON entries (parent_id)",
    "CREATE INDEX sessions_by_head ON sessions (head)",
)
TABLES = (
    # keeper is the lease of the process that an ephemeral session goes with.
    """CREATE TABLE sessions (
        id TEXT PRIMARY KEY, title TEXT NOT NULL, cwd TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
        head TEXT REFERENCES entries (id), parent_id TEXT REFERENCES sessions (id),
        archived INTEGER NOT NULL DEFAULT 0, keeper TEXT)""",
    "CREATE INDEX sessions_by_update ON sessions (updated_at, id)",
    # kind is "message"; whoever reads leaves out the kinds that they do not know. turn_id is NULL for what was said
    # between turns.
    """CREATE TABLE entries (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL REFERENCES sessions (id),
        parent_id TEXT REFERENCES entries (id), kind TEXT NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL,
        turn_id TEXT)""",
    "CREATE INDEX entries_by_session ON entries (session_id, kind)",
    *_REFERENCES,
    """CREATE TABLE usage (
        session_id TEXT NOT NULL REFERENCES sessions (id), provider TEXT NOT NULL, model TEXT NOT NULL,
        input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL,
        cost REAL, at TEXT NOT NULL, saved REAL)""",
    _STEPS,
    _QUESTIONS,
    _DRAFTS,
    _QUEUED,
    *_PATCHES,
    # The row ids are those of entries.
    "CREATE VIRTUAL TABLE entry_text USING fts5 (text)",
    f"PRAGMA user_version = {VERSION}",
)
# From each version to the next.
UPGRADES = (
    ("ALTER TABLE usage ADD COLUMN saved REAL",),
    (_STEPS,),
    ("ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0",),
    (_QUESTIONS, _DRAFTS, *_REFERENCES),
    ("ALTER TABLE sessions ADD COLUMN keeper TEXT",),
    ("ALTER TABLE entries ADD COLUMN turn_id TEXT", *_PATCHES),
    (_QUEUED,),
)
