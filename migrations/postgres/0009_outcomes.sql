-- Sums of what was attempted and what came of it, so that a page over a month reads a few thousand rows and not a million
-- operations. Nothing here is part of the record: all of it can be counted again from the operations.
--
-- Why beside the record and not in its transactions: a send waits for nobody. What changed is read from the change feed
-- after its commit, compared with what was counted of it, and the difference is added; all of one round is one transaction
-- that compares `outcome_progress.version` first, so that of several processes one counts and none counts twice.

-- What was counted of each operation that has an attempt. `took` is the part of the histogram of its time to resolution.
CREATE TABLE outcome_operation (
    workspace_id TEXT COLLATE "C" NOT NULL,
    op_id        TEXT COLLATE "C" NOT NULL,
    version      BIGINT NOT NULL,
    first_at     BIGINT NOT NULL,
    tool         TEXT COLLATE "C" NOT NULL,
    destination  TEXT COLLATE "C" NOT NULL,
    state        TEXT COLLATE "C" NOT NULL,
    attempts     BIGINT NOT NULL,
    effects      BIGINT NOT NULL,
    took         BIGINT,
    PRIMARY KEY (workspace_id, op_id)
);
CREATE INDEX outcome_by_first ON outcome_operation (workspace_id, first_at, op_id);
CREATE INDEX outcome_by_tool ON outcome_operation (workspace_id, tool, first_at, op_id);
CREATE INDEX outcome_by_destination ON outcome_operation (workspace_id, destination, first_at, op_id);
CREATE INDEX outcome_by_state ON outcome_operation (workspace_id, state, first_at, op_id);

-- Its attempts by layer and by mark (`dimension`).
CREATE TABLE outcome_attempt (
    workspace_id TEXT COLLATE "C" NOT NULL,
    op_id        TEXT COLLATE "C" NOT NULL,
    dimension    TEXT COLLATE "C" NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    first_at     BIGINT NOT NULL,
    attempts     BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, op_id, dimension, name)
);
CREATE INDEX outcome_attempt_by_name ON outcome_attempt (workspace_id, dimension, name, first_at, op_id);

-- The sums, by quarter of an hour, hour and day of UTC: every zone's days are whole quarters.
CREATE TABLE outcome_sum (
    workspace_id TEXT COLLATE "C" NOT NULL,
    dimension    TEXT COLLATE "C" NOT NULL,
    span_s       BIGINT NOT NULL,
    starts_at    BIGINT NOT NULL,
    name         TEXT COLLATE "C" NOT NULL,
    operations   BIGINT NOT NULL,
    attempts     BIGINT NOT NULL,
    uncertain    BIGINT NOT NULL,
    effects      BIGINT NOT NULL,
    surplus      BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, dimension, span_s, starts_at, name)
);

-- How many operations took how long until their outcome was known, by tool: a histogram.
CREATE TABLE outcome_time (
    workspace_id TEXT COLLATE "C" NOT NULL,
    span_s       BIGINT NOT NULL,
    starts_at    BIGINT NOT NULL,
    tool         TEXT COLLATE "C" NOT NULL,
    took         BIGINT NOT NULL,
    operations   BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, span_s, starts_at, tool, took)
);

-- What came again and was answered from the record; a row each, so that nobody waits for a counter. Taken away as counted.
CREATE TABLE outcome_repeat (
    workspace_id TEXT COLLATE "C" NOT NULL,
    repeat_id    TEXT COLLATE "C" NOT NULL,
    kind         TEXT COLLATE "C" NOT NULL,
    at           BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, repeat_id)
);

-- How far the sums have come: the change up to which they were moved, and, while an older record is counted (or counted
-- again, because the feed was cut), the operation up to which it was read.
CREATE TABLE outcome_progress (
    workspace_id TEXT COLLATE "C" NOT NULL,
    version      BIGINT NOT NULL,
    sequence     BIGINT NOT NULL,
    read_to      TEXT COLLATE "C",
    moved_at     BIGINT NOT NULL,
    PRIMARY KEY (workspace_id)
);
