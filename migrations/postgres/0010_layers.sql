-- Which of the lines that were kept are declarations of retry layers (semantics 4.5), so that they are read back without
-- looking through all lines. Lines kept before are found by the word; one that only holds it is passed over when it is read.
CREATE TABLE layer_line (
    workspace_id TEXT COLLATE "C" NOT NULL,
    received_at  BIGINT NOT NULL,
    source       TEXT COLLATE "C" NOT NULL,
    line_hash    BYTEA NOT NULL,
    PRIMARY KEY (workspace_id, received_at, source, line_hash)
);
INSERT INTO layer_line (workspace_id, received_at, source, line_hash)
SELECT workspace_id, received_at, source, line_hash FROM source_line
WHERE op_id IS NULL AND link_key IS NULL AND POSITION('"layer.declared"'::BYTEA IN bytes) > 0;

-- The most attempts of one operation, by tool.
CREATE INDEX outcome_by_attempts ON outcome_operation (workspace_id, tool, attempts, op_id);
