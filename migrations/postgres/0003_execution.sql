-- What execution needs (semantics 4.6): which operations may be claimed or are to be looked up, and from when on; the
-- bytes that go out; sends whose end nobody has reported; destinations with their scope and retry budget.
ALTER TABLE operation ADD COLUMN claim_at BIGINT;
ALTER TABLE operation ADD COLUMN look_up_at BIGINT;
CREATE INDEX operation_by_claim ON operation (workspace_id, tool, claim_at, op_id) WHERE claim_at IS NOT NULL;
CREATE INDEX operation_by_look_up ON operation (workspace_id, tool, look_up_at, op_id) WHERE look_up_at IS NOT NULL;

-- The request of one version of the arguments, kept before its first byte is sent, and sent again unchanged (J7).
-- A credential stands in it as a reference.
CREATE TABLE wire (
    workspace_id TEXT COLLATE "C" NOT NULL,
    op_id        TEXT COLLATE "C" NOT NULL,
    args_version BIGINT NOT NULL,
    bytes        BYTEA NOT NULL,
    wire_hash    BYTEA NOT NULL,
    made_at      BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, op_id, args_version)
);

-- Sends whose end is not on record: what a dead process leaves behind is found by its incarnation (K6). `token` is what
-- the send cost its destination's budget, until the outcome gives it back or keeps it (I37).
CREATE TABLE sending (
    workspace_id  TEXT COLLATE "C" NOT NULL,
    op_id         TEXT COLLATE "C" NOT NULL,
    epoch         BIGINT NOT NULL,
    incarnation   TEXT COLLATE "C" NOT NULL,
    destination   TEXT COLLATE "C",
    dispatched_at BIGINT NOT NULL,
    token         TEXT COLLATE "C",
    PRIMARY KEY (workspace_id, op_id, epoch)
);
CREATE INDEX sending_by_incarnation ON sending (workspace_id, incarnation, op_id);

-- Who is looking an operation up, so that two processes do not ask the same at once. It guards nothing: a look-up reads.
CREATE TABLE looking (
    workspace_id TEXT COLLATE "C" NOT NULL,
    op_id        TEXT COLLATE "C" NOT NULL,
    until        BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, op_id)
);

-- Destinations as the newest process was told of them, and what they bear. `version` counts changes of the scope and is
-- part of the guard epoch (4.6); `spent` counts dispatches that the budget paid for.
CREATE TABLE destination (
    workspace_id TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    version      BIGINT NOT NULL,
    scope        TEXT COLLATE "C" NOT NULL,
    is_paused    BOOLEAN NOT NULL,
    budget       TEXT COLLATE "C",
    changed_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, name)
);

-- Processes that took work, with how far their clock was from the record's when they last spoke.
CREATE TABLE worker (
    workspace_id  TEXT COLLATE "C" NOT NULL,
    name          TEXT COLLATE "C" NOT NULL,
    incarnation   TEXT COLLATE "C" NOT NULL,
    seen_at       BIGINT NOT NULL,
    offset_micros BIGINT,
    PRIMARY KEY (workspace_id, name)
);
