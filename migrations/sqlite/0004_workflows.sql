-- Workflows (semantics 1.7, 4.1): the place of an operation among the steps of one, who undoes them and who owns one that is
-- stuck, and which are to be looked at because a step of them changed.
ALTER TABLE operation ADD COLUMN step TEXT;

-- One row a workflow, also for those that are only known from imports. `unwinds`: by_people or by_itself.
CREATE TABLE workflow (
    workspace_id TEXT NOT NULL,
    name         TEXT NOT NULL,
    unwinds      TEXT NOT NULL,
    owner        TEXT,
    begun_at     INTEGER NOT NULL,
    changed_at   INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, name)
) STRICT;
CREATE INDEX workflow_newest ON workflow (workspace_id, begun_at, name);
INSERT INTO workflow (workspace_id, name, unwinds, begun_at, changed_at)
SELECT workspace_id, workflow, 'by_people', MIN(recorded_at), MIN(recorded_at)
FROM operation WHERE workflow IS NOT NULL GROUP BY workspace_id, workflow;

-- Written with the step that changed, one row a write so that nobody waits for another; taken away by who looks, before
-- they look, so that no change is missed.
CREATE TABLE workflow_due (
    workspace_id TEXT NOT NULL,
    name         TEXT NOT NULL,
    op_id        TEXT NOT NULL,
    version      INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, name, op_id, version)
) STRICT;
