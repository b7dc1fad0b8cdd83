-- The application's own table and trigger, which these tests check.
CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer_id text NOT NULL,
    status text NOT NULL DEFAULT 'new'
);

CREATE FUNCTION order_shipped() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM fanfare.emit('order.shipped', jsonb_build_object('order_id', new.id, 'customer_id', new.customer_id));
    RETURN NULL;
END $$;

CREATE TRIGGER order_shipped AFTER UPDATE OF status ON orders
    FOR EACH ROW WHEN (new.status = 'shipped' AND old.status <> 'shipped') EXECUTE FUNCTION order_shipped();
