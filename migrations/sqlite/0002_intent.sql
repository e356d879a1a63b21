-- What names the business object of an operation (semantics 4.4.3), so that a proposal under another key can be asked
-- whether it is the same intent. Older rows are found by everything that is not volatile, which is the default.
ALTER TABLE argument ADD COLUMN intent_hash BLOB;
UPDATE argument SET intent_hash = identity_hash;
CREATE INDEX argument_by_intent ON argument (workspace_id, intent_hash, op_id) WHERE intent_hash IS NOT NULL;
