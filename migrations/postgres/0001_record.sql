-- The record, first edition: operations as rows beside an append-only journal, and everything around them.
--
-- Why a row and a journal: the journal is the truth, the row is what it comes to (read fast, rebuilt and compared by
-- `tallystick verify`). Why workspace_id everywhere: one workspace today; a key without it could never be widened.
-- Times are whole microseconds UTC, JSON and ids are text. `migrations/sqlite` holds the same under the same name.

-- What an operation comes to now (semantics 4.1). `head_hash` is the hash of its newest journal entry, so that a
-- missing last entry is seen. The last block is written by later editions and costs nothing until then.
CREATE TABLE operation (
    workspace_id        TEXT COLLATE "C" NOT NULL,
    op_id               TEXT COLLATE "C" NOT NULL,
    version             BIGINT NOT NULL,
    head_hash           BYTEA NOT NULL,
    mode                TEXT COLLATE "C" NOT NULL,
    intent_id           TEXT COLLATE "C" NOT NULL,
    operation_key       TEXT COLLATE "C" NOT NULL,
    key_given           BOOLEAN NOT NULL,
    tool                TEXT COLLATE "C",
    destination         TEXT COLLATE "C",
    adopts              TEXT COLLATE "C",
    retries_of          TEXT COLLATE "C",
    supersedes          TEXT COLLATE "C",
    compensates         TEXT COLLATE "C",
    workflow            TEXT COLLATE "C",
    recorded_at         BIGINT NOT NULL,
    state               TEXT COLLATE "C" NOT NULL,
    state_detail        TEXT COLLATE "C",
    since               BIGINT NOT NULL,
    attention_reason    TEXT COLLATE "C",
    attention_rank      BIGINT,
    next_change_at      BIGINT,
    attempts            BIGINT NOT NULL,
    attempts_allowed    BIGINT,
    effects             BIGINT NOT NULL,
    effects_likely      BIGINT NOT NULL,
    receipt             TEXT COLLATE "C",
    class               TEXT COLLATE "C" NOT NULL,
    decision_row        TEXT COLLATE "C" NOT NULL,
    recommended         TEXT COLLATE "C" NOT NULL,
    assignee            TEXT COLLATE "C",
    first_dispatched_at BIGINT,
    last_fact_at        BIGINT NOT NULL,
    identity_hash       BYTEA,
    args_hash           BYTEA,
    impact_amount       BIGINT,
    impact_currency     TEXT COLLATE "C",
    impact_people       BIGINT,
    key_window          TEXT COLLATE "C" NOT NULL,
    key_from            BIGINT,
    key_until           BIGINT,
    summary             TEXT COLLATE "C" NOT NULL,
    lease_owner         TEXT COLLATE "C",
    lease_epoch         BIGINT NOT NULL DEFAULT 0,
    lease_expires_at    BIGINT,
    claimed_from        TEXT COLLATE "C",
    provider_key        TEXT COLLATE "C",
    wire_hash           BYTEA,
    PRIMARY KEY (workspace_id, op_id)
);

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
    workspace_id  TEXT COLLATE "C" NOT NULL,
    op_id         TEXT COLLATE "C" NOT NULL,
    version       BIGINT NOT NULL,
    at            BIGINT NOT NULL,
    actor_id      TEXT COLLATE "C" NOT NULL,
    actor_name    TEXT COLLATE "C" NOT NULL,
    actor_role    TEXT COLLATE "C" NOT NULL,
    command       TEXT COLLATE "C" NOT NULL,
    rules_version BIGINT NOT NULL,
    rules         TEXT COLLATE "C" NOT NULL,
    facts         TEXT COLLATE "C" NOT NULL,
    changes       TEXT COLLATE "C" NOT NULL,
    prev_hash     BYTEA NOT NULL,
    hash          BYTEA NOT NULL,
    PRIMARY KEY (workspace_id, op_id, version)
);

-- Arguments byte for byte as received, with the three hashes of J7. Version 1 is what the operation stands on;
-- later ones are conflicting proposals, kept for a person to see.
CREATE TABLE argument (
    workspace_id  TEXT COLLATE "C" NOT NULL,
    op_id         TEXT COLLATE "C" NOT NULL,
    args_version  BIGINT NOT NULL,
    standing      TEXT COLLATE "C" NOT NULL,
    bytes         BYTEA NOT NULL,
    size_bytes    BIGINT NOT NULL,
    identity_hash BYTEA NOT NULL,
    args_hash     BYTEA NOT NULL,
    wire_hash     BYTEA,
    received_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, op_id, args_version)
);

-- Operator actions: the key makes pressing twice do it once, the stored answer makes the second press get the first answer.
CREATE TABLE operator_action (
    workspace_id TEXT COLLATE "C" NOT NULL,
    action_key   TEXT COLLATE "C" NOT NULL,
    action_id    TEXT COLLATE "C" NOT NULL,
    fingerprint  BYTEA NOT NULL,
    op_id        TEXT COLLATE "C" NOT NULL,
    completes    TEXT COLLATE "C",
    action       TEXT COLLATE "C" NOT NULL,
    act          TEXT COLLATE "C" NOT NULL,
    status       TEXT COLLATE "C" NOT NULL,
    second       TEXT COLLATE "C",
    refusal      TEXT COLLATE "C",
    at           BIGINT NOT NULL,
    settled_at   BIGINT,
    from_state   TEXT COLLATE "C",
    to_state     TEXT COLLATE "C",
    made_version BIGINT,
    created_op   TEXT COLLATE "C",
    PRIMARY KEY (workspace_id, action_key)
);
CREATE UNIQUE INDEX action_newest ON operator_action (workspace_id, action_id);
CREATE INDEX action_by_operation ON operator_action (workspace_id, op_id, action_id);
CREATE INDEX action_by_kind ON operator_action (workspace_id, action, action_id);

-- The change feed. It carries no content and is not part of the record: it is cut at its old end.
-- On PostgreSQL a sequence number is made of the transaction's id, because numbers drawn from a sequence become
-- visible in another order than they were drawn; see the ledger's `changes.rs`.
CREATE TABLE outbox (
    sequence        BIGINT  PRIMARY KEY,
    workspace_id    TEXT COLLATE "C" NOT NULL,
    topic           TEXT COLLATE "C" NOT NULL,
    subject         TEXT COLLATE "C" NOT NULL,
    version         BIGINT  NOT NULL,
    needs_attention BOOLEAN NOT NULL
);

-- Every line ever received, as received. The hash in the key makes a line that comes twice one line.
CREATE TABLE source_line (
    workspace_id TEXT COLLATE "C" NOT NULL,
    source       TEXT COLLATE "C" NOT NULL,
    line_hash    BYTEA NOT NULL,
    bytes        BYTEA NOT NULL,
    received_at  BIGINT NOT NULL,
    op_id        TEXT COLLATE "C",
    link_key     TEXT COLLATE "C",
    PRIMARY KEY (workspace_id, source, line_hash)
);
-- Deliveries by the key in their metadata: an operation that appears later finds them here.
CREATE INDEX line_by_link_key ON source_line (workspace_id, link_key) WHERE link_key IS NOT NULL;

-- What sources call an operation. Two names of one source may mean the same operation (aliases).
CREATE TABLE operation_name (
    workspace_id TEXT COLLATE "C" NOT NULL,
    source       TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    op_id        TEXT COLLATE "C" NOT NULL,
    first_at     BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, source, name)
);
CREATE INDEX name_by_name ON operation_name (workspace_id, name);
CREATE INDEX name_by_operation ON operation_name (workspace_id, op_id, first_at);

-- Which sources said something about an operation: these are folded again when the source's trust changes.
CREATE TABLE operation_source (
    workspace_id TEXT COLLATE "C" NOT NULL,
    source       TEXT COLLATE "C" NOT NULL,
    op_id        TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, source, op_id)
);

-- Under which keys an operation was sent to a destination. An unknown destination is ''.
CREATE TABLE key_use (
    workspace_id    TEXT COLLATE "C" NOT NULL,
    destination_key TEXT COLLATE "C" NOT NULL,
    op_id           TEXT COLLATE "C" NOT NULL,
    destination     TEXT COLLATE "C" NOT NULL,
    first_seen_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, destination_key, op_id)
);
CREATE INDEX key_use_by_operation ON key_use (workspace_id, op_id);

-- Tools as declared; `body` is the whole declaration. Old versions stay: operations were judged under them.
CREATE TABLE tool (
    workspace_id TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    version      BIGINT NOT NULL,
    body         TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, name)
);
CREATE TABLE tool_version (
    workspace_id TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    version      BIGINT NOT NULL,
    body         TEXT COLLATE "C" NOT NULL,
    declared_at  BIGINT NOT NULL,
    declared_by  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, name, version)
);

CREATE TABLE source (
    workspace_id TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    trust        TEXT COLLATE "C" NOT NULL,
    version      BIGINT NOT NULL,
    declared_at  BIGINT NOT NULL,
    declared_by  TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, name)
);

-- Folding again after a tool or a source changed: work that outlives a restart, with how far it has come.
CREATE TABLE refold (
    workspace_id TEXT COLLATE "C" NOT NULL,
    refold_id    TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL,
    subject      TEXT COLLATE "C" NOT NULL,
    after_op_id  TEXT COLLATE "C" NOT NULL,
    made_at      BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, refold_id)
);

CREATE TABLE principal (
    workspace_id  TEXT COLLATE "C" NOT NULL,
    principal_id  TEXT COLLATE "C" NOT NULL,
    login         TEXT COLLATE "C" NOT NULL,
    name          TEXT COLLATE "C" NOT NULL,
    role          TEXT COLLATE "C" NOT NULL,
    password_hash TEXT COLLATE "C",
    created_at    BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, principal_id)
);
CREATE UNIQUE INDEX principal_login_once ON principal (workspace_id, login);

-- API tokens and one-time sign-in links, by hash only.
CREATE TABLE token (
    workspace_id TEXT COLLATE "C" NOT NULL,
    token_hash   BYTEA NOT NULL,
    principal_id TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL,
    label        TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT,
    used_at      BIGINT,
    PRIMARY KEY (workspace_id, token_hash)
);

CREATE TABLE session (
    workspace_id TEXT COLLATE "C" NOT NULL,
    id_hash      BYTEA NOT NULL,
    principal_id TEXT COLLATE "C",
    data         BYTEA NOT NULL,
    expires_at   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, id_hash)
);
CREATE INDEX session_by_end ON session (workspace_id, expires_at);

CREATE TABLE setting (
    workspace_id TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    value        TEXT COLLATE "C" NOT NULL,
    version      BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, name)
);

-- Who changed what beside operations: people, tokens, tools, sources, settings. Refused tries too. No secrets.
CREATE TABLE audit (
    workspace_id TEXT COLLATE "C" NOT NULL,
    audit_id     TEXT COLLATE "C" NOT NULL,
    at           BIGINT NOT NULL,
    actor_id     TEXT COLLATE "C" NOT NULL,
    actor_name   TEXT COLLATE "C" NOT NULL,
    actor_role   TEXT COLLATE "C" NOT NULL,
    verb         TEXT COLLATE "C" NOT NULL,
    subject      TEXT COLLATE "C" NOT NULL,
    status       TEXT COLLATE "C" NOT NULL,
    detail       TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (workspace_id, audit_id)
);

-- The clock that tests may move (semantics 4.7). Only test builds read it.
CREATE TABLE clock_offset (
    one           BIGINT PRIMARY KEY,
    offset_micros BIGINT NOT NULL,
    frozen_at     BIGINT
);
