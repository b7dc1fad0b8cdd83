internal import FanfareProviders
import Foundation
import PostgresClient
import PushSandbox
import Threading

/// The demo: a table of orders, rules about it, and three customers' simulated devices; alice has one of each kind.
///
/// Its calls block.
struct DevDemo: Sendable {
    /// Name of the demo's app, in rules and configuration.
    static let app = "demo"

    /// An order that has just been shipped.
    struct Shipment: Sendable {
        /// The order's id.
        let order: String
        /// When COMMIT was about to be sent, in microseconds of CLOCK_MONOTONIC.
        let committedAt: Int64
    }

    let databaseURL: String
    /// Alice's browser.
    let browser: PushSubscription

    private static let tables = """
        CREATE TABLE IF NOT EXISTS public.orders (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            customer_id text NOT NULL,
            status text NOT NULL DEFAULT 'new',
            total numeric(10, 2) NOT NULL
        );
        SELECT fanfare.watch_table('public.orders', 'order.updated', operations => '{update}');
        INSERT INTO public.orders (customer_id, total)
        SELECT 'bob', 12.90 WHERE NOT EXISTS (SELECT FROM public.orders WHERE customer_id = 'bob' AND status = 'new');
        """

    private static let rules = [
        #"""
        {
            "app": "demo", "name": "order-shipped", "event": "order.updated",
            "when": "$.new.status == \"shipped\" && $.old.status != \"shipped\"",
            "to": {"users": "$.new.customer_id"},
            "message": {
                "notification": {"title": "Order {{new.id}} is on its way", "body": "Total: {{new.total}} €"},
                "apns": {"payload": {"aps": {"sound": "default"}}}
            },
            "collapse": "order-{{new.id}}", "ttl": "4h", "lane": "transactional"
        }
        """#,
        #"""
        {
            "app": "demo", "name": "sale-started", "event": "sale.started",
            "to": {"condition": "'news' in topics && !('muted' in topics)"},
            "message": {"notification": {"title": "{{name}}", "body": "Starts now"}},
            "ttl": "12h", "lane": "bulk"
        }
        """#,
    ]

    private static let uncheckedRules = """
        SELECT r.name, v.reason FROM fanfare.rules AS r
        JOIN fanfare.apps AS a ON a.id = r.app_id AND a.name = $1
        CROSS JOIN LATERAL (
            SELECT state, reason FROM fanfare.rule_versions WHERE rule_id = r.id ORDER BY version DESC LIMIT 1
        ) AS v
        WHERE r.dropped_at IS NULL AND v.state <> 'active' AND r.name IN ('order-shipped', 'sale-started')
        """

    /// Alice's browsers of earlier runs, whose endpoints went with the simulated service's port.
    private static let oldBrowsers = """
        SELECT count(fanfare.unregister_device($1, d.platform, d.token)) FROM fanfare.devices AS d
        JOIN fanfare.apps AS a ON a.id = d.app_id AND a.name = $1
        WHERE d.platform = 'webpush' AND d.user_id = 'alice' AND d.disabled_at IS NULL AND d.token <> $2
        """

    private static let customers = [
        (name: "alice", token: "a11ce0", topics: ["news"]),
        (name: "bob", token: "b0b000", topics: ["news", "muted"]),
        (name: "carol", token: "ca4010", topics: ["news"]),
    ]

    /// Makes what is missing, and waits until the daemon has checked the rules.
    ///
    /// - Throws: `PostgresError`; ``DevError`` if a rule is refused or nobody checks it.
    func prepare() throws {
        let connection = try open()
        defer { connection.close() }
        try connection.execute(Self.tables)
        for customer in Self.customers {
            let token = String(repeating: customer.token, count: 64 / customer.token.count + 1).prefix(64)
            let registered = try connection.query(
                "SELECT fanfare.register_device($1, 'apns', $2, $3)",
                Self.app,
                String(token),
                customer.name
            )
            let device = registered.rows.first?.first ?? nil
            for topic in customer.topics {
                _ = try connection.query("SELECT fanfare.subscribe($1::bigint, $2)", device, topic)
            }
        }
        try registerAlicesOthers(connection)
        for rule in Self.rules {
            _ = try connection.query("SELECT fanfare.put_rule($1)", rule)
        }
        try waitForRules(connection)
    }

    private func registerAlicesOthers(_ connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.query(Self.oldBrowsers, Self.app, browser.endpoint)
        _ = try connection.query(
            "SELECT fanfare.register_device($1, 'fcm', 'alices-android-phone', 'alice')",
            Self.app
        )
        _ = try connection.query(
            "SELECT fanfare.register_device($1, 'webpush', $2, 'alice', p256dh => $3, auth => $4)",
            Self.app,
            browser.endpoint,
            browser.keys.p256dh,
            browser.keys.auth
        )
    }

    /// Takes an order and ships it, in two transactions.
    ///
    /// - Returns: the order, and when its second transaction was about to be committed.
    func ship() throws(PostgresError) -> Shipment {
        let connection = try open()
        defer { connection.close() }
        let inserted = try connection.query(
            "INSERT INTO public.orders (customer_id, total) VALUES ('alice', 42.50) RETURNING id"
        )
        let order = (inserted.rows.first?.first ?? nil) ?? ""
        try connection.execute("BEGIN")
        _ = try connection.query("UPDATE public.orders SET status = 'shipped' WHERE id = $1", order)
        let committedAt = KernelClock.monotonic.microseconds
        try connection.execute("COMMIT")
        return Shipment(order: order, committedAt: committedAt)
    }

    private func open() throws(PostgresError) -> PostgresConnection {
        try .open(PostgresOptions(url: databaseURL, applicationName: "fanfare dev"))
    }

    /// An event goes by the rules that are in force when it is emitted, so the first one has to wait for them.
    private func waitForRules(_ connection: PostgresConnection) throws {
        let deadline = ContinuousClock.now + .seconds(15)
        while true {
            let open = try connection.query(Self.uncheckedRules, Self.app).rows
            guard let first = open.first, let name = first[0] else { return }
            if let reason = first[1] {
                throw DevError(description: "The daemon refused the demo's rule \(name): \(reason)")
            }
            guard ContinuousClock.now < deadline else {
                throw DevError(description: "The daemon did not check the demo's rule \(name) within 15 s.")
            }
            Thread.sleep(forTimeInterval: 0.02)
        }
    }
}
