"""The tables of the store, and how a file of an older Marvin comes to have them."""

VERSION = 9
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
# See spending.py. Money is in units of 10^-12 USD, so that sums are exact; day is the person's own, where at is UTC. A
# session that is deleted leaves what it has used. The trigger adds it up in spent, whoever writes.
_SPENDING = (
    """CREATE TABLE usage (
        session_id TEXT REFERENCES sessions (id), provider TEXT NOT NULL, model TEXT NOT NULL,
        input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL,
        cost INTEGER, saved INTEGER, at TEXT NOT NULL, day TEXT NOT NULL)""",
    "CREATE INDEX usage_by_session ON usage (session_id)",
    """CREATE TABLE spent (
        day TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL, requests INTEGER NOT NULL,
        input INTEGER NOT NULL, output INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL,
        cost INTEGER NOT NULL, unpriced INTEGER NOT NULL, saved INTEGER NOT NULL,
        PRIMARY KEY (day, provider, model)) WITHOUT ROWID""",
)
_SUM_UP = """CREATE TRIGGER sum_up AFTER INSERT ON usage BEGIN
    INSERT INTO spent VALUES (new.day, new.provider, new.model, 1, new.input, new.output, new.cache_read,
        new.cache_write, ifnull(new.cost, 0), new.cost IS NULL, ifnull(new.saved, 0))
    ON CONFLICT DO UPDATE SET requests = requests + 1, input = input + new.input, output = output + new.output,
        cache_read = cache_read + new.cache_read, cache_write = cache_write + new.cache_write,
        cost = cost + ifnull(new.cost, 0), unpriced = unpriced + (new.cost IS NULL),
        saved = saved + ifnull(new.saved, 0);
    END"""
# See context_choices.py.
_CONTEXT_CHOICES = """CREATE TABLE context_choices (
    session_id TEXT NOT NULL REFERENCES sessions (id), choice TEXT NOT NULL, name TEXT NOT NULL,
    UNIQUE (session_id, choice, name))"""
TABLES = (
    # keeper is the lease of the process that an ephemeral session goes with. What was said in one that is_chat was said
    # outside coding mode, and may be recalled in other places.
    """CREATE TABLE sessions (
        id TEXT PRIMARY KEY, title TEXT NOT NULL, cwd TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
        head TEXT REFERENCES entries (id), parent_id TEXT REFERENCES sessions (id),
        archived INTEGER NOT NULL DEFAULT 0, keeper TEXT,
        is_chat INTEGER NOT NULL DEFAULT 0)""",
    "CREATE INDEX sessions_by_update ON sessions (updated_at, id)",
    # kind is "message"; whoever reads leaves out the kinds that they do not know. turn_id is NULL for what was said
    # between turns.
    """CREATE TABLE entries (
        seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL REFERENCES sessions (id),
        parent_id TEXT REFERENCES entries (id), kind TEXT NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL,
        turn_id TEXT)""",
    "CREATE INDEX entries_by_session ON entries (session_id, kind)",
    *_REFERENCES,
    *_SPENDING,
    _SUM_UP,
    _STEPS,
    _QUESTIONS,
    _DRAFTS,
    _QUEUED,
    *_PATCHES,
    _CONTEXT_CHOICES,
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
    (
        "ALTER TABLE usage RENAME TO earlier_usage",
        *_SPENDING,
        _SUM_UP,
        """INSERT INTO usage SELECT session_id, provider, model, input, output, cache_read, cache_write,
            CAST(round(cost * 1e12) AS INTEGER), CAST(round(saved * 1e12) AS INTEGER), at,
            ifnull(date(at, 'localtime'), substr(at, 1, 10)) FROM earlier_usage ORDER BY rowid""",
        "DROP TABLE earlier_usage",
        _CONTEXT_CHOICES,
        "ALTER TABLE sessions ADD COLUMN is_chat INTEGER NOT NULL DEFAULT 0",
    ),
)
