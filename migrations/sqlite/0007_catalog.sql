-- Tools, sources, settings and the scopes of destinations are read in every transaction and change rarely. A process keeps
-- them for as long as this token stays what it was. The database itself changes it, so that nobody who writes can forget
-- to. It is random: a restored copy does not come upon a token that meant something else before.
CREATE TABLE catalog (
    one   INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    token TEXT NOT NULL
) STRICT;
INSERT INTO catalog (one, token) VALUES (1, hex(randomblob(16)));

CREATE TRIGGER catalog_by_new_tool AFTER INSERT ON tool
BEGIN UPDATE catalog SET token = hex(randomblob(16)); END;
CREATE TRIGGER catalog_by_tool AFTER UPDATE ON tool
BEGIN UPDATE catalog SET token = hex(randomblob(16)); END;
CREATE TRIGGER catalog_by_lost_tool AFTER DELETE ON tool
BEGIN UPDATE catalog SET token = hex(randomblob(16)); END;

CREATE TRIGGER catalog_by_new_source AFTER INSERT ON source
BEGIN UPDATE catalog SET token = hex(randomblob(16)); END;
CREATE TRIGGER catalog_by_source AFTER UPDATE ON source
BEGIN UPDATE catalog SET token = hex(randomblob(16)); END;
CREATE TRIGGER catalog_by_lost_source AFTER DELETE ON source
BEGIN UPDATE catalog SET token = hex(randomblob(16)); END;

-- How far the change feed is cut is not a declaration, and moves all the time.
CREATE TRIGGER catalog_by_new_setting AFTER INSERT ON setting WHEN new.name <> 'feed_cut_to'
BEGIN UPDATE catalog SET token = hex(randomblob(16)); END;
CREATE TRIGGER catalog_by_setting AFTER UPDATE ON setting WHEN new.name <> 'feed_cut_to'
BEGIN UPDATE catalog SET token = hex(randomblob(16)); END;
CREATE TRIGGER catalog_by_lost_setting AFTER DELETE ON setting WHEN old.name <> 'feed_cut_to'
BEGIN UPDATE catalog SET token = hex(randomblob(16)); END;

-- What a destination's retries are paid from moves with them and is no declaration.
CREATE TRIGGER catalog_by_new_destination AFTER INSERT ON destination
BEGIN UPDATE catalog SET token = hex(randomblob(16)); END;
CREATE TRIGGER catalog_by_destination AFTER UPDATE OF scope ON destination
BEGIN UPDATE catalog SET token = hex(randomblob(16)); END;
CREATE TRIGGER catalog_by_lost_destination AFTER DELETE ON destination
BEGIN UPDATE catalog SET token = hex(randomblob(16)); END;
