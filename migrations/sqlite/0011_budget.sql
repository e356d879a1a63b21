-- When a destination's retry budget last paid for no retry, kept with the budget by whoever spends from it or gives back; and
-- what was not sent because of it: a row each dispatch that was refused, in the commit that gives its lease back. The journal
-- has the refusal too, but cannot be asked by destination.
ALTER TABLE destination ADD COLUMN short_since INTEGER;
ALTER TABLE destination ADD COLUMN short_until INTEGER;
CREATE TABLE budget_refusal (
    workspace_id TEXT NOT NULL,
    destination  TEXT NOT NULL,
    at           INTEGER NOT NULL,
    op_id        TEXT NOT NULL,
    epoch        INTEGER NOT NULL,
    why          TEXT NOT NULL,
    PRIMARY KEY (workspace_id, destination, at, op_id, epoch)
) STRICT;
