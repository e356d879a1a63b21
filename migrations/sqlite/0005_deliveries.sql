-- What destinations tell by themselves (semantics 1.9): each delivery once, as it was received, with the names by which it
-- can be found and the operations that it speaks of.
--
-- Why names are rows of their own: a delivery may come before the operation that it names is sent, or before its receipt
-- is known. Whatever brings a new key or receipt finds the deliveries that name it by an index.
CREATE TABLE delivery (
    workspace_id TEXT NOT NULL,
    row_id       TEXT NOT NULL,
    webhook      TEXT NOT NULL,
    delivery_id  TEXT NOT NULL,
    scheme       TEXT NOT NULL,
    destination  TEXT NOT NULL,
    event        TEXT,
    happened_at  INTEGER,
    received_at  INTEGER NOT NULL,
    headers      TEXT NOT NULL,
    body         BLOB NOT NULL,
    repeats      INTEGER NOT NULL,
    repeated_at  INTEGER,
    PRIMARY KEY (workspace_id, row_id)
) STRICT;
-- I22: one delivery id, one row; in the same transaction as its evidence.
CREATE UNIQUE INDEX delivery_once ON delivery (workspace_id, webhook, delivery_id);
CREATE INDEX delivery_by_destination ON delivery (workspace_id, destination, row_id);

-- Keys, receipts and ids that a delivery names.
CREATE TABLE delivery_name (
    workspace_id TEXT NOT NULL,
    name         TEXT NOT NULL,
    row_id       TEXT NOT NULL,
    PRIMARY KEY (workspace_id, name, row_id)
) STRICT;

-- The operations that hold a delivery's evidence, and how it was linked to each.
CREATE TABLE delivery_match (
    workspace_id TEXT NOT NULL,
    row_id       TEXT NOT NULL,
    op_id        TEXT NOT NULL,
    linked_by    TEXT NOT NULL,
    matched_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, row_id, op_id)
) STRICT;

-- Which operations hold a receipt, also one that is not the first of theirs: a reversal names the object alone.
CREATE TABLE receipt_use (
    workspace_id  TEXT NOT NULL,
    receipt       TEXT NOT NULL,
    op_id         TEXT NOT NULL,
    first_seen_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, receipt, op_id)
) STRICT;
