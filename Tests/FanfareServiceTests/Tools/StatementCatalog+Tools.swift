import FanfareCore
import PostgresClient

@testable import FanfareService

extension StatementCatalog {
    /// What the commands' statements find, beside what the stages' find.
    struct ToolParts {
        let device: Int64
        let token: String
    }

    /// Adopts the database and prunes a device of another app.
    static func populateForTools(_ world: World, token: String) throws -> ToolParts {
        try world.connection.execute(
            """
            SELECT fanfare.adopt();
            SELECT fanfare.register_device('tools', 'apns', 'cd01'), fanfare.register_device('tools', 'apns', 'cd02');
            UPDATE fanfare.devices SET disabled_at = now(), disabled_reason = 'Unregistered' WHERE token = 'cd01';
            """
        )
        let device = try world.connection.number("SELECT id FROM fanfare.devices WHERE token = 'cd02'")
        return ToolParts(device: device, token: "cd02")
    }

    /// The statements of the commands.
    static func tools(_ parts: ToolParts) -> [any PostgresStatement] {
        let pruned = RestoreRequest(app: "tools", since: .ago(TimeSpan(seconds: 60)), reason: nil, environment: nil)
        return [
            EmitEvent(type: "t", payload: "{}", key: "k", ttlSeconds: 60),
            MissingRoles(), HasRelation(relation: "fanfare.apps"), SchemaVersion(), RecordedIdentity(),
            ActualIdentity(),
            RegisterDevice(registration: DeviceRegistration(app: "tools", platform: "apns", token: parts.token)),
            UnregisterDevice(app: "tools", platform: "apns", token: parts.token),
            SubscribeDevices(ids: [parts.device], topic: "t"), UnsubscribeDevices(ids: [parts.device], topic: "t"),
            ListDevices(filter: DeviceFilter()), ShowDevice(id: parts.device),
            PruneReasons(), CountPruned(request: pruned), RestoreDevices(request: pruned),
            StoredRules(apps: nil), PutRule(rule: #"{"app": "tools", "name": "r"}"#),
            MarkRuleFromFile(id: RuleID(app: "shop", name: "users")), DropRule(id: RuleID(app: "shop", name: "users")),
            IsDaemonAlive(), ListDaemons(), ListQueues(), ListHealth(), DatabaseNow(),
            MissingPrivileges(), ServerSettings(), AppUse(), TailStart(since: nil), LogPartitions(),
        ]
    }
}
