-- Bulk actions: one action on many operations, as a person saw them. The list is written once and never changed; how far
-- it has come is read from the actions themselves, so that no cursor can disagree with what was done.

-- `state`: previewed, running, done, aborted. `reason` and `started_at` come with the start, `ended_at` with the end, `why`
-- with a stop before the end. `taken_until` keeps two processes from working on the same list at once; it guards nothing,
-- because each item has a key of its own.
CREATE TABLE bulk (
    workspace_id TEXT NOT NULL,
    bulk_id      TEXT NOT NULL,
    input        TEXT NOT NULL,
    origin       TEXT NOT NULL,
    items        INTEGER NOT NULL,
    eligible     INTEGER NOT NULL,
    list_hash    BLOB NOT NULL,
    made_by      TEXT NOT NULL,
    made_at      INTEGER NOT NULL,
    state        TEXT NOT NULL,
    reason       TEXT,
    started_at   INTEGER,
    ended_at     INTEGER,
    why          TEXT,
    taken_by     TEXT,
    taken_until  INTEGER,
    PRIMARY KEY (workspace_id, bulk_id)
) STRICT;
CREATE INDEX bulk_running ON bulk (workspace_id, bulk_id) WHERE state = 'running';
CREATE INDEX bulk_previewed ON bulk (workspace_id, made_at, bulk_id) WHERE state = 'previewed';

-- The frozen list. `skip` says why an item is left out; an item without it is done under `action_key`, or waits.
CREATE TABLE bulk_item (
    workspace_id TEXT NOT NULL,
    bulk_id      TEXT NOT NULL,
    place        INTEGER NOT NULL,
    op_id        TEXT NOT NULL,
    seen_version INTEGER NOT NULL,
    action_key   TEXT NOT NULL,
    skip         TEXT,
    PRIMARY KEY (workspace_id, bulk_id, place)
) STRICT;
CREATE INDEX bulk_item_by_operation ON bulk_item (workspace_id, op_id, bulk_id);
