-- The record, first edition: operations as rows beside an append-only journal, and everything around them.
--
-- Why a row and a journal: the journal is the truth, the row is what it comes to (read fast, rebuilt and compared by
-- `tallystick verify`). Why workspace_id everywhere: one workspace today; a key without it could never be widened.
-- Times are whole microseconds UTC, JSON and ids are text. `migrations/postgres` holds the same under the same name.

-- What an operation comes to now (semantics 4.1). `head_hash` is the hash of its newest journal entry, so that a
-- missing last entry is seen. The last block is written by later editions and costs nothing until then.
CREATE TABLE operation (
    workspace_id        TEXT NOT NULL,
    op_id               TEXT NOT NULL,
    version             INTEGER NOT NULL,
    head_hash           BLOB NOT NULL,
    mode                TEXT NOT NULL,
    intent_id           TEXT NOT NULL,
    operation_key       TEXT NOT NULL,
    key_given           INTEGER NOT NULL,
    tool                TEXT,
    destination         TEXT,
    adopts              TEXT,
    retries_of          TEXT,
    supersedes          TEXT,
    compensates         TEXT,
    workflow            TEXT,
    recorded_at         INTEGER NOT NULL,
    state               TEXT NOT NULL,
    state_detail        TEXT,
    since               INTEGER NOT NULL,
    attention_reason    TEXT,
    attention_rank      INTEGER,
    next_change_at      INTEGER,
    attempts            INTEGER NOT NULL,
    attempts_allowed    INTEGER,
    effects             INTEGER NOT NULL,
    effects_likely      INTEGER NOT NULL,
    receipt             TEXT,
    class               TEXT NOT NULL,
    decision_row        TEXT NOT NULL,
    recommended         TEXT NOT NULL,
    assignee            TEXT,
    first_dispatched_at INTEGER,
    last_fact_at        INTEGER NOT NULL,
    identity_hash       BLOB,
    args_hash           BLOB,
    impact_amount       INTEGER,
    impact_currency     TEXT,
    impact_people       INTEGER,
    key_window          TEXT NOT NULL,
    key_from            INTEGER,
    key_until           INTEGER,
    summary             TEXT NOT NULL,
    lease_owner         TEXT,
    lease_epoch         INTEGER NOT NULL DEFAULT 0,
    lease_expires_at    INTEGER,
    claimed_from        TEXT,
    provider_key        TEXT,
    wire_hash           BLOB,
    PRIMARY KEY (workspace_id, op_id)
) STRICT;

CREATE UNIQUE INDEX operation_key_once ON operation (workspace_id, operation_key);
CREATE INDEX operation_by_intent ON operation (workspace_id, intent_id, op_id);
CREATE INDEX operation_by_state ON operation (workspace_id, state, op_id);
CREATE INDEX operation_by_tool ON operation (workspace_id, tool, op_id);
CREATE INDEX operation_by_destination ON operation (workspace_id, destination, op_id);
CREATE INDEX operation_by_mode ON operation (workspace_id, mode, op_id);
CREATE INDEX operation_without_key ON operation (workspace_id, op_id) WHERE key_given = FALSE;
CREATE INDEX operation_by_receipt ON operation (workspace_id, receipt, op_id) WHERE receipt IS NOT NULL;
CREATE INDEX operation_by_compensates ON operation (workspace_id, compensates, op_id) WHERE compensates IS NOT NULL;
CREATE INDEX operation_by_workflow ON operation (workspace_id, workflow, op_id) WHERE workflow IS NOT NULL;
CREATE INDEX operation_by_change ON operation (workspace_id, next_change_at, op_id) WHERE next_change_at IS NOT NULL;
CREATE INDEX attention_by_rank ON operation (workspace_id, attention_rank, op_id) WHERE attention_rank IS NOT NULL;
CREATE INDEX attention_by_reason ON operation (workspace_id, attention_reason, attention_rank, op_id)
    WHERE attention_rank IS NOT NULL;
CREATE INDEX attention_by_assignee ON operation (workspace_id, assignee, attention_rank, op_id)
    WHERE attention_rank IS NOT NULL;
CREATE INDEX attention_by_since ON operation (workspace_id, since) WHERE attention_rank IS NOT NULL;
CREATE INDEX attention_by_key_end ON operation (workspace_id, key_until) WHERE attention_rank IS NOT NULL;

-- What happened, in order; only ever added to. `facts` are what was learned, `changes` the members of the row that
-- became different. The hash runs over the previous hash and the digests of the fields, so a payload can be erased later.
CREATE TABLE journal (
    workspace_id  TEXT NOT NULL,
    op_id         TEXT NOT NULL,
    version       INTEGER NOT NULL,
    at            INTEGER NOT NULL,
    actor_id      TEXT NOT NULL,
    actor_name    TEXT NOT NULL,
    actor_role    TEXT NOT NULL,
    command       TEXT NOT NULL,
    rules_version INTEGER NOT NULL,
    rules         TEXT NOT NULL,
    facts         TEXT NOT NULL,
    changes       TEXT NOT NULL,
    prev_hash     BLOB NOT NULL,
    hash          BLOB NOT NULL,
    PRIMARY KEY (workspace_id, op_id, version)
) STRICT;

-- Arguments byte for byte as received, with the three hashes of J7. Version 1 is what the operation stands on;
-- later ones are conflicting proposals, kept for a person to see.
CREATE TABLE argument (
    workspace_id  TEXT NOT NULL,
    op_id         TEXT NOT NULL,
    args_version  INTEGER NOT NULL,
    standing      TEXT NOT NULL,
    bytes         BLOB NOT NULL,
    size_bytes    INTEGER NOT NULL,
    identity_hash BLOB NOT NULL,
    args_hash     BLOB NOT NULL,
    wire_hash     BLOB,
    received_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, op_id, args_version)
) STRICT;

-- Operator actions: the key makes pressing twice do it once, the stored answer makes the second press get the first answer.
CREATE TABLE operator_action (
    workspace_id TEXT NOT NULL,
    action_key   TEXT NOT NULL,
    action_id    TEXT NOT NULL,
    fingerprint  BLOB NOT NULL,
    op_id        TEXT NOT NULL,
    completes    TEXT,
    action       TEXT NOT NULL,
    act          TEXT NOT NULL,
    status       TEXT NOT NULL,
    second       TEXT,
    refusal      TEXT,
    at           INTEGER NOT NULL,
    settled_at   INTEGER,
    from_state   TEXT,
    to_state     TEXT,
    made_version INTEGER,
    created_op   TEXT,
    PRIMARY KEY (workspace_id, action_key)
) STRICT;
CREATE UNIQUE INDEX action_newest ON operator_action (workspace_id, action_id);
CREATE INDEX action_by_operation ON operator_action (workspace_id, op_id, action_id);
CREATE INDEX action_by_kind ON operator_action (workspace_id, action, action_id);

-- The change feed. It carries no content and is not part of the record: it is cut at its old end.
-- On PostgreSQL a sequence number is made of the transaction's id, because numbers drawn from a sequence become
-- visible in another order than they were drawn; see the ledger's `changes.rs`.
CREATE TABLE outbox (
    sequence        INTEGER PRIMARY KEY AUTOINCREMENT,
    workspace_id    TEXT    NOT NULL,
    topic           TEXT    NOT NULL,
    subject         TEXT    NOT NULL,
    version         INTEGER NOT NULL,
    needs_attention INTEGER NOT NULL
) STRICT;

-- Every line ever received, as received. The hash in the key makes a line that comes twice one line.
CREATE TABLE source_line (
    workspace_id TEXT NOT NULL,
    source       TEXT NOT NULL,
    line_hash    BLOB NOT NULL,
    bytes        BLOB NOT NULL,
    received_at  INTEGER NOT NULL,
    op_id        TEXT,
    link_key     TEXT,
    PRIMARY KEY (workspace_id, source, line_hash)
) STRICT;
-- Deliveries by the key in their metadata: an operation that appears later finds them here.
CREATE INDEX line_by_link_key ON source_line (workspace_id, link_key) WHERE link_key IS NOT NULL;

-- What sources call an operation. Two names of one source may mean the same operation (aliases).
CREATE TABLE operation_name (
    workspace_id TEXT NOT NULL,
    source       TEXT NOT NULL,
    name         TEXT NOT NULL,
    op_id        TEXT NOT NULL,
    first_at     INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, source, name)
) STRICT;
CREATE INDEX name_by_name ON operation_name (workspace_id, name);
CREATE INDEX name_by_operation ON operation_name (workspace_id, op_id, first_at);

-- Which sources said something about an operation: these are folded again when the source's trust changes.
CREATE TABLE operation_source (
    workspace_id TEXT NOT NULL,
    source       TEXT NOT NULL,
    op_id        TEXT NOT NULL,
    PRIMARY KEY (workspace_id, source, op_id)
) STRICT;

-- Under which keys an operation was sent to a destination. An unknown destination is ''.
CREATE TABLE key_use (
    workspace_id    TEXT NOT NULL,
    destination_key TEXT NOT NULL,
    op_id           TEXT NOT NULL,
    destination     TEXT NOT NULL,
    first_seen_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, destination_key, op_id)
) STRICT;
CREATE INDEX key_use_by_operation ON key_use (workspace_id, op_id);

-- Tools as declared; `body` is the whole declaration. Old versions stay: operations were judged under them.
CREATE TABLE tool (
    workspace_id TEXT NOT NULL,
    name         TEXT NOT NULL,
    version      INTEGER NOT NULL,
    body         TEXT NOT NULL,
    PRIMARY KEY (workspace_id, name)
) STRICT;
CREATE TABLE tool_version (
    workspace_id TEXT NOT NULL,
    name         TEXT NOT NULL,
    version      INTEGER NOT NULL,
    body         TEXT NOT NULL,
    declared_at  INTEGER NOT NULL,
    declared_by  TEXT NOT NULL,
    PRIMARY KEY (workspace_id, name, version)
) STRICT;

CREATE TABLE source (
    workspace_id TEXT NOT NULL,
    name         TEXT NOT NULL,
    trust        TEXT NOT NULL,
    version      INTEGER NOT NULL,
    declared_at  INTEGER NOT NULL,
    declared_by  TEXT NOT NULL,
    PRIMARY KEY (workspace_id, name)
) STRICT;

-- Folding again after a tool or a source changed: work that outlives a restart, with how far it has come.
CREATE TABLE refold (
    workspace_id TEXT NOT NULL,
    refold_id    TEXT NOT NULL,
    kind         TEXT NOT NULL,
    subject      TEXT NOT NULL,
    after_op_id  TEXT NOT NULL,
    made_at      INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, refold_id)
) STRICT;

CREATE TABLE principal (
    workspace_id  TEXT NOT NULL,
    principal_id  TEXT NOT NULL,
    login         TEXT NOT NULL,
    name          TEXT NOT NULL,
    role          TEXT NOT NULL,
    password_hash TEXT,
    created_at    INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, principal_id)
) STRICT;
CREATE UNIQUE INDEX principal_login_once ON principal (workspace_id, login);

-- API tokens and one-time sign-in links, by hash only.
CREATE TABLE token (
    workspace_id TEXT NOT NULL,
    token_hash   BLOB NOT NULL,
    principal_id TEXT NOT NULL,
    kind         TEXT NOT NULL,
    label        TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    used_at      INTEGER,
    PRIMARY KEY (workspace_id, token_hash)
) STRICT;

CREATE TABLE session (
    workspace_id TEXT NOT NULL,
    id_hash      BLOB NOT NULL,
    principal_id TEXT,
    data         BLOB NOT NULL,
    expires_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, id_hash)
) STRICT;
CREATE INDEX session_by_end ON session (workspace_id, expires_at);

CREATE TABLE setting (
    workspace_id TEXT NOT NULL,
    name         TEXT NOT NULL,
    value        TEXT NOT NULL,
    version      INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, name)
) STRICT;

-- Who changed what beside operations: people, tokens, tools, sources, settings. Refused tries too. No secrets.
CREATE TABLE audit (
    workspace_id TEXT NOT NULL,
    audit_id     TEXT NOT NULL,
    at           INTEGER NOT NULL,
    actor_id     TEXT NOT NULL,
    actor_name   TEXT NOT NULL,
    actor_role   TEXT NOT NULL,
    verb         TEXT NOT NULL,
    subject      TEXT NOT NULL,
    status       TEXT NOT NULL,
    detail       TEXT NOT NULL,
    PRIMARY KEY (workspace_id, audit_id)
) STRICT;

-- The clock that tests may move (semantics 4.7). Only test builds read it.
CREATE TABLE clock_offset (
    one           INTEGER PRIMARY KEY,
    offset_micros INTEGER NOT NULL,
    frozen_at     INTEGER
) STRICT;
