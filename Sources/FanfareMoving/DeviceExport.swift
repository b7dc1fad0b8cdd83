internal import FanfareCore
internal import FanfareRecords
public import FanfareTools
internal import PostgresClient

/// Writes an app's devices, a page at a time, in constant memory.
///
/// Pages are read one after the other: devices that are registered or disabled meanwhile may or may not be included.
public struct DeviceExport: Sendable {
    /// The format of the output.
    public enum Format: String, CaseIterable, Sendable {
        /// Comma-separated values with a header (RFC 4180).
        case csv
        /// JSON lines: an object per line.
        case jsonl
    }

    /// The number of devices in a page.
    static let page: Int64 = 2000

    /// The app.
    public var app: String
    /// The provider; nil for all.
    public var provider: String?
    /// Whether disabled devices are included.
    public var includesDisabled = false
    /// Whether tokens and keys are included; with the app's credentials, they suffice to push to the devices.
    public var withTokens = false
    /// The format of the output.
    public var format = Format.csv

    /// Describes an export.
    ///
    /// - Parameter app: the app.
    public init(app: String) {
        self.app = app
    }

    /// Writes the devices.
    ///
    /// - Parameters:
    ///   - database: the database to read from.
    ///   - write: receives a few lines at a time.
    /// - Returns: the number of devices.
    /// - Throws: ``ToolError``, and errors of `write`.
    public func run(
        on database: ToolDatabase,
        write: ([UInt8]) async throws(ToolError) -> Void
    ) async throws(ToolError) -> Int64 {
        if let provider { try ToolDatabase.check(provider: provider) }
        let names = try await database.rows(of: SQL.appNames())
        guard names.contains(app) else {
            let near = NearestName.suggestion(for: app, among: names).map { "Did you mean \($0)?" } ?? ""
            throw ToolError(.usage, "there is no app “\(app.printable)”", hint: near)
        }
        if format == .csv { try await write(Array((columns + ["topics"]).joined(separator: ",").utf8) + Self.newline) }
        var (after, count): (Int64, Int64) = (0, 0)
        while true {
            let devices = try await next(after, database)
            guard let last = devices.last else { return count }
            after = last.id
            count += Int64(devices.count)
            var bytes: [UInt8] = []
            for device in devices { append(device, to: &bytes) }
            try await write(bytes)
        }
    }

    private func next(_ after: Int64, _ database: ToolDatabase) async throws(ToolError) -> [ExportedDevice] {
        let page = DeviceExportPage(
            app: app,
            provider: provider,
            includesDisabled: includesDisabled,
            after: after,
            limit: Self.page
        )
        let withTokens = withTokens
        return try await database.run { connection throws(PostgresError) in
            withTokens
                ? try connection.run(SQL.exportDevicesWithTokens(page))
                : try connection.run(SQL.exportDevices(page))
        }
    }

    private static let secrets: Set<String> = ["token", "p256dh", "auth"]
    private static let newline = [UInt8(ascii: "\n")]

    private var columns: [String] {
        ["device_id"] + ExportedDevice.names.filter { withTokens || !Self.secrets.contains($0) }
    }

    private func append(_ device: ExportedDevice, to bytes: inout [UInt8]) {
        let columns = device.columns.filter { withTokens || !Self.secrets.contains($0.name) }
        switch format {
        case .csv:
            bytes += Array("\(device.id)".utf8)
            for column in columns {
                bytes.append(UInt8(ascii: ","))
                Self.append(column.text ?? "", to: &bytes)
            }
            bytes.append(UInt8(ascii: ","))
            Self.append(device.topics.joined(separator: ";"), to: &bytes)
        case .jsonl:
            var object = JSONObject()
            object["device_id"] = JSONValue(device.id)
            for column in columns where column.text != nil {
                let isJSON = ["attributes", "presents"].contains(column.name)
                object[column.name] =
                    isJSON ? column.text.flatMap { try? JSONValue(parsing: $0) } : JSONValue(orNull: column.text)
            }
            object["topics"] = .array(device.topics.map(JSONValue.string))
            JSONValue.object(object).encode(into: &bytes)
        }
        bytes += Self.newline
    }

    /// Appends a field, quoted if necessary.
    private static func append(_ text: String, to bytes: inout [UInt8]) {
        let special: Set<UInt8> = [UInt8(ascii: ","), UInt8(ascii: "\""), UInt8(ascii: "\n"), UInt8(ascii: "\r")]
        guard text.utf8.contains(where: special.contains) else { return bytes.append(contentsOf: text.utf8) }
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") { bytes.append(byte) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
