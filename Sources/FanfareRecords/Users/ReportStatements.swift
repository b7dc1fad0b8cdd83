package import PostgresClient

/// What a device reports of one push.
package struct DeviceReport: Sendable {
    /// What happened to the push; the raw values are those of `fanfare.reports_pending`.
    package enum Kind: Int16, Sendable, CaseIterable {
        case received
        case shown
        case opened
        case action
        case dismissed

        private static let named = Dictionary(uniqueKeysWithValues: allCases.map { ("\($0)", $0) })

        /// Finds a kind by its name in requests.
        package init?(named name: String) {
            guard let kind = Self.named[name] else { return nil }
            self = kind
        }
    }

    /// The handle of the push, decoded.
    package let handle: [UInt8]
    /// What happened.
    package let kind: Kind
    /// The action that the user chose; empty for other kinds.
    package let action: String
    /// What the user typed; empty for nothing.
    package let text: String
    /// When it happened, by the device's clock, in microseconds since 1970; nil for now.
    package let at: Int64?

    /// Creates a report.
    package init(handle: [UInt8], kind: Kind, action: String, text: String, at: Int64?) {
        (self.handle, self.kind, self.action, self.text, self.at) = (handle, kind, action, text, at)
    }
}

/// Reports of devices with who sent them: one element of each array is one report.
package struct SentReports: PostgresBind {
    private var apps: [String] = []
    private var devices: [Int64] = []
    private var keys: [[UInt8]] = []
    private var users: [String] = []
    private var handles: [[UInt8]] = []
    private var kinds: [Int16] = []
    private var actions: [String] = []
    private var times: [Timestamp] = []
    private var texts: [String] = []

    /// Later than all times; the database takes its own clock's instead.
    private static let latest = Timestamp(microseconds: 253_402_300_799_000_000)

    package init() {}

    /// How many reports there are.
    package var count: Int { devices.count }

    /// Adds a report.
    ///
    /// - Parameters:
    ///   - report: the report.
    ///   - app: the app in the path of its request.
    ///   - device: the device.
    ///   - key: the device's report key; empty if ``user`` proves who sent it.
    ///   - user: the user of the phone's token; empty if ``key`` proves who sent it.
    package mutating func append(_ report: DeviceReport, app: String, device: Int64, key: [UInt8], user: String) {
        apps.append(app)
        devices.append(device)
        keys.append(key)
        users.append(user)
        handles.append(report.handle)
        kinds.append(report.kind.rawValue)
        actions.append(report.action)
        times.append(report.at.map { Timestamp(microseconds: $0) } ?? Self.latest)
        texts.append(report.text)
    }

    package func append(to binds: inout PostgresBinds) {
        binds.append(apps)
        binds.append(devices)
        binds.append(keys)
        binds.append(users)
        binds.append(handles)
        binds.append(kinds)
        binds.append(actions)
        binds.append(times)
        binds.append(texts)
    }
}

/// What became of ``SentReports``.
package struct TakenReports: Sendable {
    /// Whether the sender of each report is who it claims to be; reports of others are not stored.
    package let areSenders: [Bool]
    /// How many were stored.
    ///
    /// The other reports of genuine senders have no genuine handle, or their user is not tracked.
    package let stored: Int64

    /// Creates the result.
    package init(areSenders: [Bool], stored: Int64) { (self.areSenders, self.stored) = (areSenders, stored) }
}

/// The limit of counting reports that wait.
package enum PendingReports {
    /// The number of reports after which counting stops.
    package static let limit = 100_000
}

extension SQL {
    /// Counts the reports that wait to be folded into their log, up to a limit.
    package static let countReportsPending = Statement<Int64>(
        "count_reports_pending",
        "SELECT count(*) FROM (SELECT FROM fanfare.reports_pending LIMIT \(PendingReports.limit)) AS p"
    )

    /// Calls `fanfare.take_reports`.
    ///
    /// Binds: reports.
    package static let takeReports = Statement<TakenReports, SentReports>(
        "take_reports",
        "SELECT t.is_sender, t.taken FROM fanfare.take_reports($1, $2, $3, $4, $5, $6, $7, $8, $9) AS t",
        row: TakenReports.init
    )

    /// Calls `fanfare.report_key`; null for a device that is disabled.
    ///
    /// Binds: device.
    package static let reportKey = Statement<String?, Int64>("report_key", "SELECT fanfare.report_key($1)")
}
