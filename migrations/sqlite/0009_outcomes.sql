-- Sums of what was attempted and what came of it, so that a page over a month reads a few thousand rows and not a million
-- operations. Nothing here is part of the record: all of it can be counted again from the operations.
--
-- Why beside the record and not in its transactions: a send waits for nobody. What changed is read from the change feed
-- after its commit, compared with what was counted of it, and the difference is added; all of one round is one transaction
-- that compares `outcome_progress.version` first, so that of several processes one counts and none counts twice.

-- What was counted of each operation that has an attempt. `took` is the part of the histogram of its time to resolution.
CREATE TABLE outcome_operation (
    workspace_id TEXT NOT NULL,
    op_id        TEXT NOT NULL,
    version      INTEGER NOT NULL,
    first_at     INTEGER NOT NULL,
    tool         TEXT NOT NULL,
    destination  TEXT NOT NULL,
    state        TEXT NOT NULL,
    attempts     INTEGER NOT NULL,
    effects      INTEGER NOT NULL,
    took         INTEGER,
    PRIMARY KEY (workspace_id, op_id)
) STRICT;
CREATE INDEX outcome_by_first ON outcome_operation (workspace_id, first_at, op_id);
CREATE INDEX outcome_by_tool ON outcome_operation (workspace_id, tool, first_at, op_id);
CREATE INDEX outcome_by_destination ON outcome_operation (workspace_id, destination, first_at, op_id);
CREATE INDEX outcome_by_state ON outcome_operation (workspace_id, state, first_at, op_id);

-- Its attempts by layer and by mark (`dimension`).
CREATE TABLE outcome_attempt (
    workspace_id TEXT NOT NULL,
    op_id        TEXT NOT NULL,
    dimension    TEXT NOT NULL,
    name         TEXT NOT NULL,
    first_at     INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, op_id, dimension, name)
) STRICT;
CREATE INDEX outcome_attempt_by_name ON outcome_attempt (workspace_id, dimension, name, first_at, op_id);

-- The sums, by quarter of an hour, hour and day of UTC: every zone's days are whole quarters.
CREATE TABLE outcome_sum (
    workspace_id TEXT NOT NULL,
    dimension    TEXT NOT NULL,
    span_s       INTEGER NOT NULL,
    starts_at    INTEGER NOT NULL,
    name         TEXT NOT NULL,
    operations   INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    uncertain    INTEGER NOT NULL,
    effects      INTEGER NOT NULL,
    surplus      INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, dimension, span_s, starts_at, name)
) STRICT;

-- How many operations took how long until their outcome was known, by tool: a histogram.
CREATE TABLE outcome_time (
    workspace_id TEXT NOT NULL,
    span_s       INTEGER NOT NULL,
    starts_at    INTEGER NOT NULL,
    tool         TEXT NOT NULL,
    took         INTEGER NOT NULL,
    operations   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, span_s, starts_at, tool, took)
) STRICT;

-- What came again and was answered from the record; a row each, so that nobody waits for a counter. Taken away as counted.
CREATE TABLE outcome_repeat (
    workspace_id TEXT NOT NULL,
    repeat_id    TEXT NOT NULL,
    kind         TEXT NOT NULL,
    at           INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, repeat_id)
) STRICT;

-- How far the sums have come: the change up to which they were moved, and, while an older record is counted (or counted
-- again, because the feed was cut), the operation up to which it was read.
CREATE TABLE outcome_progress (
    workspace_id TEXT NOT NULL,
    version      INTEGER NOT NULL,
    sequence     INTEGER NOT NULL,
    read_to      TEXT,
    moved_at     INTEGER NOT NULL,
    PRIMARY KEY (workspace_id)
) STRICT;
