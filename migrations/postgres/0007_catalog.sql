-- Tools, sources, settings and the scopes of destinations are read in every transaction and change rarely. A process keeps
-- them for as long as this token stays what it was. The database itself changes it, so that nobody who writes can forget
-- to. It is random: a restored copy does not come upon a token that meant something else before.
CREATE TABLE catalog (
    one   INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    token TEXT COLLATE "C" NOT NULL
);
INSERT INTO catalog (one, token) VALUES (1, gen_random_uuid()::TEXT);

CREATE FUNCTION catalog_changed() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    UPDATE catalog SET token = gen_random_uuid()::TEXT;
    RETURN NULL;
END
$$;

-- At the end of the transaction: its lock is the last that is taken, so that nobody who holds it waits for another.
CREATE CONSTRAINT TRIGGER catalog_by_tool AFTER INSERT OR UPDATE OR DELETE ON tool
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION catalog_changed();
CREATE CONSTRAINT TRIGGER catalog_by_source AFTER INSERT OR UPDATE OR DELETE ON source
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION catalog_changed();
-- How far the change feed is cut is not a declaration, and moves all the time.
CREATE CONSTRAINT TRIGGER catalog_by_setting AFTER INSERT OR UPDATE ON setting
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.name <> 'feed_cut_to') EXECUTE FUNCTION catalog_changed();
CREATE CONSTRAINT TRIGGER catalog_by_lost_setting AFTER DELETE ON setting
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.name <> 'feed_cut_to') EXECUTE FUNCTION catalog_changed();

-- What a destination's retries are paid from moves with them and is no declaration.
CREATE CONSTRAINT TRIGGER catalog_by_destination AFTER INSERT OR UPDATE OF scope OR DELETE ON destination
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION catalog_changed();
