internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
internal import FanfareRecords
internal import FanfareService
internal import FanfareStages
internal import FanfareStore
internal import PostgresClient
internal import Threading

/// Checks a database that could be reached.
struct DatabaseCheckup {
    let connection: PostgresConnection
    let configuration: Configuration

    /// Returns all items; the later ones only if the schema is loaded.
    func items() throws(PostgresError) -> [CheckItem] {
        let version = connection.serverVersion
        var items = [serverItem(version), try DatabaseEncoding.read(on: connection).item]
        items += [try listenItem(), try clockItem()]
        items += try connectionItems() + [vacuumItem()]
        guard try connection.run(SQL.hasRelation("fanfare.schema_version")).first ?? false else {
            let advice = "Run `fanfare migrate`."
            return items + [CheckItem(.fail, "schema", "this database has no Fanfare schema", advice: advice)]
        }
        let missing = try connection.run(SQL.missingPrivileges()).first ?? []
        items.append(privilegeItem(missing))
        guard missing.isEmpty else { return items }
        items.append(contentsOf: try installationItems())
        // What follows reads columns that an older schema lacks.
        guard let version = try connection.run(SQL.schemaVersion()).first, Schema.versions.contains(version) else {
            return items
        }
        items += try Self.timeZoneItems(unknown: connection.run(SQL.unknownTimeZones()).first ?? [])
        items += try appItems() + deviceItems() + ruleItems() + healthItems()
        return items
    }

    private func serverItem(_ version: Int) -> CheckItem {
        let text = "PostgreSQL \(version / 10_000).\(version % 10_000)"
        guard version >= 150_000 else {
            return CheckItem(.fail, "database", text, advice: "Fanfare needs PostgreSQL 15 or newer.")
        }
        guard !connection.isPooled else {
            return CheckItem(
                .fail,
                "database",
                "\(text), behind a pool, through which neither LISTEN nor session locks work",
                advice: "Connect Fanfare to PostgreSQL itself; your application may emit through the pool."
            )
        }
        return CheckItem(.ok, "database", text)
    }

    private func listenItem() throws(PostgresError) -> CheckItem {
        let channel = "fanfare_check_\(connection.backendPID)"
        try connection.listen(to: channel)
        let isHeard = try connection.echo(on: channel, within: .seconds(3)).isHeard
        try connection.unlisten()
        return isHeard
            ? CheckItem(.ok, "LISTEN", "a notification came back")
            : CheckItem(
                .fail,
                "LISTEN",
                "a notification to ourselves did not come back",
                advice: "Connect Fanfare to PostgreSQL itself, not through a pool."
            )
    }

    private func clockItem() throws(PostgresError) -> CheckItem {
        let asked = Clocks.wall
        let database = try connection.run(SQL.databaseNow()).first?.microseconds ?? asked
        let answered = Clocks.wall
        // The database read its clock at some moment between the two.
        let ahead = database < asked ? asked - database : min(answered - database, 0)
        guard ahead.magnitude > UInt64(ClockWatch.tolerance) else {
            return CheckItem(.ok, "clock", "agrees with the database's within a minute")
        }
        let span = TimeSpan(seconds: abs(ahead) / Micros.second)
        return CheckItem(
            .warn,
            "clock",
            "this machine's is \(span) \(ahead > 0 ? "ahead of" : "behind") the database's",
            advice: "Let both follow a time server: providers refuse what a wrong clock signed."
        )
    }

    /// Returns one item for each connection limit with too little room, or one for the narrowest limit.
    private func connectionItems() throws(PostgresError) -> [CheckItem] {
        // Control, the scheduler and foreign channels; besides, `badge_sql` may use one more, campaigns' queries two
        // and `users_sql` four.
        let onTop = configuration.listen.isEmpty ? 2 : 3
        let needed = Int64(configuration.database.connections + onTop)
        let rooms = try connection.run(SQL.sessionLimits()).compactMap { limit in
            limit.allowed.map { SessionRoom(holder: limit.holder, allowed: $0, free: $0 - limit.used) }
        }
        let narrow = rooms.filter { $0.free < needed }
        guard narrow.isEmpty else { return narrow.map { $0.item(needed: needed) } }
        return rooms.min { $0.free < $1.free }.map { [$0.item(needed: needed)] } ?? []
    }

    private func vacuumItem() throws(PostgresError) -> CheckItem {
        guard try connection.run(SQL.hasAutovacuum()).first ?? true else {
            return CheckItem(
                .fail,
                "autovacuum",
                "off: the queues would grow for ever",
                advice: "Set autovacuum = on and track_counts = on."
            )
        }
        return CheckItem(.ok, "autovacuum", "on")
    }

    private func privilegeItem(_ missing: [String]) -> CheckItem {
        guard !missing.isEmpty else { return CheckItem(.ok, "privileges", "all that a daemon needs") }
        let shown = missing.prefix(5).joined(separator: ", ")
        let more = missing.count > 5 ? " and \(missing.count - 5) more" : ""
        return CheckItem(
            .fail,
            "privileges",
            "missing: \(shown)\(more)",
            advice: "GRANT fanfare_daemon TO the role that Fanfare connects as."
        )
    }

    private func installationItems() throws(PostgresError) -> [CheckItem] {
        guard let installation = try connection.run(SQL.readInstallation()).first else { return [] }
        var items: [CheckItem] = []
        do throws(DaemonError) {
            try installation.check(name: configuration.installation)
            items.append(CheckItem(.ok, "installation", installation.name ?? "unnamed"))
        } catch {
            items.append(CheckItem("installation", ToolError(error)))
        }
        return items + (try schemaItems(version: installation.schemaVersion))
    }

    /// Returns the item about the server's time zone data.
    ///
    /// - Parameter unknown: the zones that the server lacks, under their new and old names.
    /// - Returns: a warning; empty if the server lacks none.
    static func timeZoneItems(unknown: [String]) -> [CheckItem] {
        guard let first = unknown.first else { return [] }
        let others = unknown.count == 1 ? "" : " and \(unknown.count - 1) more"
        return [
            CheckItem(
                .warn,
                "time zones",
                "this server does not know \(first)\(others): devices there are registered without a zone, and quiet hours and "
                    + "campaigns by local time use the policy's zone or UTC",
                advice: "Install or update the server's time zone data (Debian: tzdata), and restart PostgreSQL."
            )
        ]
    }

    private func appItems() throws(PostgresError) -> [CheckItem] {
        let stored = try connection.run(SQL.appUse())
        let names = Set(stored.map(\.name))
        let unable = stored.compactMap { AppNeeds($0, configuration.apps[$0.name]).item }
        let unused = configuration.apps.keys.sorted().filter { !names.contains($0) }.map { name in
            CheckItem(
                .warn,
                "app \(name)",
                "has credentials, and neither devices nor rules",
                advice: "Is the name spelled as in register_device and in the rules?"
            )
        }
        return unable + unused
    }

    /// Returns the counts of each app's enabled devices.
    private func deviceItems() throws(PostgresError) -> [CheckItem] {
        let rows = try connection.run(SQL.sampleDevices(nil)).filter { $0.disabledReason == nil }
        return Self.addressItems(rows.filter { $0.provider == "fcm" }) + Self.permissionItems(rows)
    }

    /// Returns how many of each app's devices have each permission, for apps whose devices say it.
    private static func permissionItems(_ rows: [SampleDevicesRow]) -> [CheckItem] {
        Dictionary(grouping: rows, by: \.app).sorted { $0.key < $1.key }.compactMap { app, rows in
            guard rows.contains(where: { $0.permission != nil }) else { return nil }
            let counts = PermissionFilter.allCases.map { permission in
                let devices = rows.filter { ($0.permission ?? "unknown") == permission.rawValue }
                return "\(devices.reduce(0) { $0 + $1.devices }) \(permission.rawValue)"
            }
            let about = rows.allSatisfy(\.isExact) ? "" : "about "
            return CheckItem(.ok, "permission of devices of \(app)", about + counts.joined(separator: ", "))
        }
    }

    /// Returns how many of each app's FCM devices are reached by a token, and how many by a FID.
    private static func addressItems(_ rows: [SampleDevicesRow]) -> [CheckItem] {
        Dictionary(grouping: rows, by: \.app).sorted { $0.key < $1.key }.map { app, rows in
            let about = rows.allSatisfy(\.isExact) ? "" : "about "
            let fids = rows.filter { $0.address == "fid" }.reduce(0) { $0 + $1.devices }
            let all = rows.reduce(0) { $0 + $1.devices }
            return CheckItem(.ok, "FCM devices of \(app)", "\(about)\(all - fids) by token, \(fids) by FID")
        }
    }

    private func ruleItems() throws(PostgresError) -> [CheckItem] {
        let rules = try connection.run(SQL.storedRules(nil))
        let refused = rules.filter { $0.state == "refused" }.map { rule in
            CheckItem(
                rule.versionInForce == nil ? .fail : .warn,
                "rule \(rule.app)/\(rule.name)",
                "version \(rule.version) is refused: \(rule.reason ?? "")"
                    + (rule.versionInForce.map { "; version \($0) stays in force" } ?? ""),
                advice: "Fix it and apply it again."
            )
        }
        return refused.isEmpty ? [CheckItem(.ok, "rules", "\(rules.count), none refused")] : refused
    }

    /// Returns the problems that daemons reported; it is no problem here that no daemon runs yet.
    private func healthItems() throws(PostgresError) -> [CheckItem] {
        try connection.run(SQL.listHealth()).filter { !$0.isOK && $0.name != "rules" && $0.name != "daemons" }
            .map { CheckItem(.warn, $0.name, $0.detail, advice: "`fanfare status` shows more.") }
    }
}

/// The room that one connection limit leaves for a daemon's sessions.
private struct SessionRoom {
    /// The role or database with the limit; nil for the server.
    let holder: String?
    let allowed: Int64
    let free: Int64

    func item(needed: Int64) -> CheckItem {
        let place = holder.map { " for \($0)" } ?? ""
        let detail =
            "\(free) of \(allowed) are free\(place); a daemon takes \(needed), and one more where a rule has badge_sql, "
            + "two to four where one has users_sql"
        guard free < needed else { return CheckItem(.ok, "connections", detail) }
        let limit = holder.map { "the CONNECTION LIMIT of \($0)" } ?? "max_connections"
        let suffices = allowed >= needed
        let advice = suffices ? "Unless it is a daemon of yours that has the others: raise" : "Raise"
        return CheckItem(
            suffices && free > 0 ? .warn : .fail,
            "connections",
            detail,
            advice: "\(advice) \(limit), or lower database.connections."
        )
    }
}
