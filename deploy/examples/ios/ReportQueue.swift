import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// What happened to a push on this device.
struct PushReport: Codable, Sendable {
    /// The kinds that Fanfare counts.
    enum Kind: String, Codable, Sendable {
        case received, shown, opened, action, dismissed
    }

    /// The push's `fanfare_report`.
    var handle: String
    var kind: Kind
    /// The identifier of the action, for `action`.
    var action: String?
    /// What the user wrote, for an action with text.
    var text: String?
    var at = Date()
}

/// Keeps reports in files until Fanfare has accepted them.
///
/// The app and its notification service extension share the folder, which is in their App Group. Each report is a file,
/// so the two processes need no lock. If both send a report, Fanfare counts it once.
struct ReportQueue: Sendable {
    /// The folder of the reports and of their key.
    let folder: URL
    /// Where reports are sent: your backend's `/push/reports`, as in server.mjs, or Fanfare's `/v1/apps/shop/reports`.
    let address: URL

    private static let mostKept = 200
    private static let mostSent = 100
    private static let oldest: TimeInterval = 7 * 86_400
    private static let longestPause: TimeInterval = 3600

    private struct Pause: Codable {
        var attempts = 0
        var notBefore = Date.distantPast
    }

    private var keyFile: URL { folder.appendingPathComponent("key") }
    private var pauseFile: URL { folder.appendingPathComponent("pause") }

    init(folder: URL, address: URL) {
        self.folder = folder
        self.address = address
        try? FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// The `report_key` of the registration; nil while there is none.
    var key: String? {
        get { (try? Data(contentsOf: keyFile)).flatMap { String(bytes: $0, encoding: .utf8) } }
        nonmutating set {
            if let newValue {
                // iOS encrypts the file until the first unlock after a start, so the extension can read it on a locked phone.
                try? Data(newValue.utf8).write(to: keyFile, options: .atomic)
            } else {
                try? FileManager.default.removeItem(at: keyFile)
            }
        }
    }

    /// Keeps a report; nil, for a push without a handle, is ignored.
    func add(_ report: PushReport?) {
        guard let report, let data = try? Self.encoder.encode(report) else { return }
        // The name has what `trim` needs, and sorts by time.
        let name = "\(Int(report.at.timeIntervalSince1970 * 1000))-\(report.kind.rawValue)-\(UUID().uuidString).json"
        try? data.write(to: folder.appendingPathComponent(name), options: .atomic)
        trim()
    }

    /// Forgets key and reports, when the user signs out.
    func clear() {
        key = nil
        remove(files())
    }

    /// Sends what is kept; call it at each start of the app, and after `add`.
    func send() async {
        trim()
        var size = Self.mostSent
        while let key, pause.notBefore <= Date() {
            // A file that the other process has just sent is missing.
            let batch = files().prefix(size).compactMap { file in (try? Data(contentsOf: file)).map { (file, $0) } }
            guard !batch.isEmpty else { return }
            let (status, retryAfter) = await post(batch.map(\.1), key)
            switch status {
            case 202:
                remove(batch.map(\.0))
                pause = Pause()
            case 401:
                // The key is void. The app gets a new one when it registers, and then sends the reports.
                if self.key == key { self.key = nil }
            case 400, 413, 422:
                // One of them can never be accepted: smaller requests find it.
                if batch.count == 1 { remove(batch.map(\.0)) }
                size = batch.count == 1 ? Self.mostSent : batch.count / 2
            default:
                let attempts = pause.attempts
                let backoff = min(pow(2, Double(attempts)), Self.longestPause) * Double.random(in: 1...1.25)
                let wait = max(retryAfter ?? 0, backoff)
                pause = Pause(attempts: min(attempts + 1, 20), notBefore: Date() + wait)
                return
            }
        }
    }

    /// Sends what is kept after a random delay, which spreads the reports of a broadcast.
    func sendLater() async {
        try? await Task.sleep(nanoseconds: UInt64.random(in: 0...25_000_000_000))
        await send()
    }

    private var pause: Pause {
        get {
            let data = try? Data(contentsOf: pauseFile)
            return data.flatMap { try? JSONDecoder().decode(Pause.self, from: $0) } ?? Pause()
        }
        nonmutating set { try? JSONEncoder().encode(newValue).write(to: pauseFile, options: .atomic) }
    }

    private func post(_ reports: [Data], _ key: String) async -> (status: Int, retryAfter: TimeInterval?) {
        var request = URLRequest(url: address, timeoutInterval: 5)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("Report \(key)", forHTTPHeaderField: "Authorization")
        let list = Data(reports.joined(separator: Data(",".utf8)))
        request.httpBody = Data(#"{"reports":["#.utf8) + list + Data("]}".utf8)
        guard let (_, answer) = try? await URLSession.shared.data(for: request), let http = answer as? HTTPURLResponse
        else { return (0, nil) }
        return (http.statusCode, http.value(forHTTPHeaderField: "Retry-After").flatMap(TimeInterval.init))
    }

    /// Drops reports that would no longer be counted, and the least important ones of too many.
    private func trim() {
        let all = files()
        let fresh = all.filter { Self.time(of: $0) > Date() - Self.oldest }
        remove(all.filter { !fresh.contains($0) })
        let received = fresh.filter { $0.lastPathComponent.contains("-received-") }
        let byWorth = received + fresh.filter { !received.contains($0) }
        remove(Array(byWorth.prefix(max(0, fresh.count - Self.mostKept))))
    }

    /// Returns the files of the reports, oldest first.
    private func files() -> [URL] {
        let all = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        return all.filter { $0.pathExtension == "json" }.sorted { $0.lastPathComponent < $1.lastPathComponent }
    }

    private func remove(_ files: [URL]) {
        for file in files { try? FileManager.default.removeItem(at: file) }
    }

    private static func time(of file: URL) -> Date {
        let milliseconds = file.lastPathComponent.split(separator: "-").first.flatMap { Double($0) } ?? 0
        return Date(timeIntervalSince1970: milliseconds / 1000)
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        return encoder
    }
}

#if canImport(Darwin)
    extension ReportQueue {
        /// The queue of the app and its extension; nil without the App Group, which both targets need as a capability.
        static let shared: ReportQueue? = {
            let group = "group.com.example.shop"
            guard let address = URL(string: "https://shop.example.com/push/reports"),
                let container = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group)
            else { return nil }
            return ReportQueue(folder: container.appendingPathComponent("reports"), address: address)
        }()
    }
#endif
