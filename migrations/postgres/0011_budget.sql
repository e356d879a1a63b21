-- When a destination's retry budget last paid for no retry, kept with the budget by whoever spends from it or gives back; and
-- what was not sent because of it: a row each dispatch that was refused, in the commit that gives its lease back. The journal
-- has the refusal too, but cannot be asked by destination.
ALTER TABLE destination ADD COLUMN short_since BIGINT;
ALTER TABLE destination ADD COLUMN short_until BIGINT;
CREATE TABLE budget_refusal (
    workspace_id TEXT COLLATE "C" NOT NULL,
    destination  TEXT COLLATE "C" NOT NULL,
    at           BIGINT NOT NULL,
    op_id        TEXT COLLATE "C" NOT NULL,
    epoch        BIGINT NOT NULL,
    why          TEXT NOT NULL,
    PRIMARY KEY (workspace_id, destination, at, op_id, epoch)
);
