-- Checks what the trigger emits. Needs no daemon, and commits nothing.
\set ON_ERROR_STOP on
BEGIN;

CREATE FUNCTION pg_temp.expect(what text, wanted anyelement, actual anyelement) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    IF actual IS DISTINCT FROM wanted THEN RAISE EXCEPTION '%: wanted %, got %', what, wanted, actual; END IF;
    RETURN 'ok  ' || what;
END $$;

INSERT INTO orders (customer_id) VALUES ('ann');
UPDATE orders SET status = 'packed' WHERE customer_id = 'ann';
SELECT pg_temp.expect('a packed order is not an event', 0::bigint, count(*))
FROM fanfare.events WHERE fate = 'waiting' AND type = 'order.shipped' AND payload ->> 'customer_id' = 'ann';

UPDATE orders SET status = 'shipped' WHERE customer_id = 'ann';
UPDATE orders SET status = 'shipped' WHERE customer_id = 'ann';
SELECT pg_temp.expect('a shipped order is one event', '["ann"]'::jsonb, jsonb_agg(payload -> 'customer_id'))
FROM fanfare.events WHERE fate = 'waiting' AND type = 'order.shipped' AND payload ->> 'customer_id' = 'ann';

ROLLBACK;
