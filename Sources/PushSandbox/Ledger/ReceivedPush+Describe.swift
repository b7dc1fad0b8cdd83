import Foundation

extension ReceivedPush {
    /// Describes the push for people: what the simulated device shows, and how it arrived.
    ///
    /// Several lines without a trailing newline, for a terminal; programs should not parse them, because the wording
    /// may change.
    ///
    /// - Returns: the text; control characters of the push are replaced, so that it cannot control the terminal.
    public func describe() -> String {
        var lines = [headline]
        if isAccepted {
            lines += shown.map { "  │ " + $0 }
        }
        lines.append("  \(service?.targetName ?? "token")  " + shortTarget)
        for name in service?.tellingHeaders ?? [] {
            if let value = headers[name] {
                lines.append("  \(name)  \(value)")
            }
        }
        if let presentation { lines.append("  in Safari  " + presentation) }
        if let problem { lines.append("  problem  " + problem) }
        if let body { lines.append("  payload  " + body) }
        return lines.map(Self.printable).joined(separator: "\n")
    }

    private var service: SimulatedService? { SimulatedService(rawValue: provider) }

    private var isAccepted: Bool {
        status.map { (200..<300).contains($0) } ?? false
    }

    private var headline: String {
        guard let status else { return "#\(n) \(provider) \(environment) gave no answer (fault: \(fault ?? "none"))" }
        guard isAccepted else { return "#\(n) \(provider) \(environment) refused a push: \(status) \(reason ?? "")" }
        let success = service?.success ?? "a simulated service got a request"
        return "#\(n) \(success) (\(service?.isPush == true ? "\(provider) " : "")\(environment))"
    }

    /// The text on the device's screen.
    private var shown: [String] {
        service?.shown(body.flatMap { JSONParser.parse($0.utf8) }?.members) ?? []
    }

    private var shortTarget: String {
        let last = (target.isEmpty ? path : target).split(separator: "/").last.map(String.init) ?? path
        return last.count > 16 ? "\(last.prefix(8))…\(last.suffix(4))" : last
    }

    private static func printable(_ line: String) -> String {
        String(
            String.UnicodeScalarView(
                line.unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }
            )
        )
    }
}
