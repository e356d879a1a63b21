-- What the newest answer that is open was judged by, with its error: operations of one tool and destination that share it
-- failed in the same way. Rows from before this step get it when they are folded again.
ALTER TABLE operation ADD COLUMN cause TEXT;

-- The queue by age and by what is at stake, and within one group of equal causes.
CREATE INDEX attention_by_age ON operation (workspace_id, since, op_id) WHERE attention_rank IS NOT NULL;
CREATE INDEX attention_by_stake ON operation (workspace_id, COALESCE(impact_amount, -1), op_id)
    WHERE attention_rank IS NOT NULL;
CREATE INDEX attention_by_cause ON operation (workspace_id, tool, destination, cause, attention_rank, op_id)
    WHERE attention_rank IS NOT NULL;
-- Everything that groups are counted from, so that no row is read for it.
CREATE INDEX attention_by_group ON operation
    (workspace_id, attention_rank, tool, destination, attention_reason, cause, since, last_fact_at)
    WHERE attention_rank IS NOT NULL;

-- Lists as a person likes to see them. `place` is queue or operations; `query` is the address's query.
CREATE TABLE saved_view (
    workspace_id TEXT NOT NULL,
    principal_id TEXT NOT NULL,
    place        TEXT NOT NULL,
    name         TEXT NOT NULL,
    query        TEXT NOT NULL,
    saved_at     INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, principal_id, place, name)
) STRICT, WITHOUT ROWID;
