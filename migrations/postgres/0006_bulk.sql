-- Bulk actions: one action on many operations, as a person saw them. The list is written once and never changed; how far
-- it has come is read from the actions themselves, so that no cursor can disagree with what was done.

-- `state`: previewed, running, done, aborted. `reason` and `started_at` come with the start, `ended_at` with the end, `why`
-- with a stop before the end. `taken_until` keeps two processes from working on the same list at once; it guards nothing,
-- because each item has a key of its own.
CREATE TABLE bulk (
    workspace_id TEXT COLLATE "C" NOT NULL,
    bulk_id      TEXT COLLATE "C" NOT NULL,
    input        TEXT COLLATE "C" NOT NULL,
    origin       TEXT COLLATE "C" NOT NULL,
    items        BIGINT NOT NULL,
    eligible     BIGINT NOT NULL,
    list_hash    BYTEA NOT NULL,
    made_by      TEXT COLLATE "C" NOT NULL,
    made_at      BIGINT NOT NULL,
    state        TEXT COLLATE "C" NOT NULL,
    reason       TEXT COLLATE "C",
    started_at   BIGINT,
    ended_at     BIGINT,
    why          TEXT COLLATE "C",
    taken_by     TEXT COLLATE "C",
    taken_until  BIGINT,
    PRIMARY KEY (workspace_id, bulk_id)
);
CREATE INDEX bulk_running ON bulk (workspace_id, bulk_id) WHERE state = 'running';
CREATE INDEX bulk_previewed ON bulk (workspace_id, made_at, bulk_id) WHERE state = 'previewed';

-- The frozen list. `skip` says why an item is left out; an item without it is done under `action_key`, or waits.
CREATE TABLE bulk_item (
    workspace_id TEXT COLLATE "C" NOT NULL,
    bulk_id      TEXT COLLATE "C" NOT NULL,
    place        BIGINT NOT NULL,
    op_id        TEXT COLLATE "C" NOT NULL,
    seen_version BIGINT NOT NULL,
    action_key   TEXT COLLATE "C" NOT NULL,
    skip         TEXT COLLATE "C",
    PRIMARY KEY (workspace_id, bulk_id, place)
);
CREATE INDEX bulk_item_by_operation ON bulk_item (workspace_id, op_id, bulk_id);
