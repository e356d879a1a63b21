-- What execution needs (semantics 4.6): which operations may be claimed or are to be looked up, and from when on; the
-- bytes that go out; sends whose end nobody has reported; destinations with their scope and retry budget.
ALTER TABLE operation ADD COLUMN claim_at INTEGER;
ALTER TABLE operation ADD COLUMN look_up_at INTEGER;
CREATE INDEX operation_by_claim ON operation (workspace_id, tool, claim_at, op_id) WHERE claim_at IS NOT NULL;
CREATE INDEX operation_by_look_up ON operation (workspace_id, tool, look_up_at, op_id) WHERE look_up_at IS NOT NULL;

-- The request of one version of the arguments, kept before its first byte is sent, and sent again unchanged (J7).
-- A credential stands in it as a reference.
CREATE TABLE wire (
    workspace_id TEXT NOT NULL,
    op_id        TEXT NOT NULL,
    args_version INTEGER NOT NULL,
    bytes        BLOB NOT NULL,
    wire_hash    BLOB NOT NULL,
    made_at      INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, op_id, args_version)
) STRICT;

-- Sends whose end is not on record: what a dead process leaves behind is found by its incarnation (K6). `token` is what
-- the send cost its destination's budget, until the outcome gives it back or keeps it (I37).
CREATE TABLE sending (
    workspace_id  TEXT NOT NULL,
    op_id         TEXT NOT NULL,
    epoch         INTEGER NOT NULL,
    incarnation   TEXT NOT NULL,
    destination   TEXT,
    dispatched_at INTEGER NOT NULL,
    token         TEXT,
    PRIMARY KEY (workspace_id, op_id, epoch)
) STRICT;
CREATE INDEX sending_by_incarnation ON sending (workspace_id, incarnation, op_id);

-- Who is looking an operation up, so that two processes do not ask the same at once. It guards nothing: a look-up reads.
CREATE TABLE looking (
    workspace_id TEXT NOT NULL,
    op_id        TEXT NOT NULL,
    until        INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, op_id)
) STRICT;

-- Destinations as the newest process was told of them, and what they bear. `version` counts changes of the scope and is
-- part of the guard epoch (4.6); `spent` counts dispatches that the budget paid for.
CREATE TABLE destination (
    workspace_id TEXT NOT NULL,
    name         TEXT NOT NULL,
    version      INTEGER NOT NULL,
    scope        TEXT NOT NULL,
    is_paused    INTEGER NOT NULL,
    budget       TEXT,
    changed_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, name)
) STRICT;

-- Processes that took work, with how far their clock was from the record's when they last spoke.
CREATE TABLE worker (
    workspace_id  TEXT NOT NULL,
    name          TEXT NOT NULL,
    incarnation   TEXT NOT NULL,
    seen_at       INTEGER NOT NULL,
    offset_micros INTEGER,
    PRIMARY KEY (workspace_id, name)
) STRICT;
