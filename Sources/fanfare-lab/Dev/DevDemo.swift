internal import FanfareProviders
import Foundation
import PostgresClient
import PushSandbox
import Threading

/// The demo: a table of orders, rules, and three customers' simulated devices; alice has one at each provider.
///
/// Its calls block.
struct DevDemo: Sendable {
    /// The name of the demo's app, in rules and configuration.
    static let app = "demo"

    /// An order that was just shipped.
    struct Shipment: Sendable {
        /// The order's id.
        let order: String
        /// The time before COMMIT was sent, in microseconds of CLOCK_MONOTONIC.
        let committedAt: Int64
    }

    let databaseURL: String
    /// The simulated devices, one at each provider, by customer.
    private let devices: [String: [SimulatedDevice]]

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

    /// Selects the simulated devices of earlier runs, whose URLs have the port of an earlier sandbox.
    private static let oldDevices = """
        SELECT count(fanfare.unregister_device($1, d.provider, d.token)) FROM fanfare.devices AS d
        JOIN fanfare.apps AS a ON a.id = d.app_id AND a.name = $1
        WHERE d.user_id = $2 AND d.provider = $3 AND d.disabled_at IS NULL AND d.token <> $4
            AND d.token LIKE 'https://localhost:%'
        """

    /// The customers; alice has a device at each provider, the others have a phone.
    private static let customers = [
        (name: "alice", topics: ["news"]), (name: "bob", topics: ["news", "muted"]), (name: "carol", topics: ["news"]),
    ]

    /// - Parameters:
    ///   - databaseURL: the URL of the demo's database.
    ///   - sandbox: the sandbox that simulates the devices.
    /// - Throws: `SandboxError` for an invalid device name.
    init(databaseURL: String, sandbox: PushSandbox) throws(SandboxError) {
        self.databaseURL = databaseURL
        var devices: [String: [SimulatedDevice]] = [:]
        for customer in Self.customers { devices[customer.name] = try sandbox.devices(named: customer.name) }
        self.devices = devices
    }

    /// Creates what is missing, and waits until the daemon has checked the rules.
    ///
    /// - Throws: `PostgresError`; ``DevError`` if a rule is refused or not checked in time.
    func prepare() throws {
        let connection = try open()
        defer { connection.close() }
        try connection.execute(Self.tables)
        for customer in Self.customers {
            let devices = devices[customer.name] ?? []
            let phone = try devices.prefix(1).map { try register($0, of: customer.name, connection) }.first ?? nil
            for topic in customer.topics {
                _ = try connection.query("SELECT fanfare.subscribe($1::bigint, $2)", phone, topic)
            }
        }
        for device in (devices["alice"] ?? []).dropFirst() { _ = try register(device, of: "alice", connection) }
        for rule in Self.rules {
            _ = try connection.query("SELECT fanfare.put_rule($1)", rule)
        }
        try waitForRules(connection)
    }

    /// Registers a customer's device, replacing that of an earlier run.
    private func register(
        _ device: SimulatedDevice,
        of customer: String,
        _ connection: PostgresConnection
    ) throws(PostgresError) -> String? {
        _ = try connection.query(Self.oldDevices, Self.app, customer, device.provider, device.token)
        let registered = try connection.query(
            "SELECT fanfare.register_device($1, $2, $3, $4, p256dh => $5, auth => $6)",
            Self.app,
            device.provider,
            device.token,
            customer,
            device.p256dh,
            device.auth
        )
        return registered.rows.first?.first ?? nil
    }

    /// The number of all customers' devices.
    var deviceCount: Int { (devices["alice"]?.count ?? 0) + Self.customers.count - 1 }

    /// Creates an order and ships it, in two transactions.
    ///
    /// - Returns: the order, and the time before the second commit.
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

    /// Waits for the rules: an event is matched by the rules in force at its emit.
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
