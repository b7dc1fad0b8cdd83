import Foundation

extension ReceivedPush {
    /// The push as a person would see it: what the simulated device shows, and how it came.
    ///
    /// Several lines without a line break at the end. Meant for a terminal, not for programs: wording may change.
    ///
    /// - Returns: the text; control characters from the push are replaced, so it cannot steer the terminal.
    public func describe() -> String {
        var lines = [headline]
        if status == 200 {
            lines += shown.map { "  │ " + $0 }
        }
        lines.append("  token  " + shortToken)
        for name in ["apns-topic", "apns-push-type", "apns-priority", "apns-collapse-id", "apns-expiration", "apns-id"]
        {
            if let value = headers[name] {
                lines.append("  \(name)  \(value)")
            }
        }
        if let body {
            lines.append("  payload  " + body)
        }
        return lines.map(Self.printable).joined(separator: "\n")
    }

    private var headline: String {
        let device = provider == "apns" ? "the simulated iPhone" : "the simulated device"
        switch status {
        case 200?: return "#\(n) \(device) got a push (\(provider) \(environment))"
        case let status?: return "#\(n) \(provider) \(environment) refused a push: \(status) \(reason ?? "")"
        case nil: return "#\(n) \(provider) \(environment) gave no answer (fault: \(fault ?? "none"))"
        }
    }

    /// What appears on the screen.
    private var shown: [String] {
        guard let body, let root = try? JSONDecoder().decode(JSONValue.self, from: Data(body.utf8)),
            case .object(let members) = root, case .object(let aps)? = members["aps"]
        else { return ["(no aps dictionary)"] }
        var lines: [String] = []
        switch aps["alert"] {
        case .string(let text)?: lines.append(text)
        case .object(let alert)?:
            for key in ["title", "subtitle", "body"] {
                if case .string(let text)? = alert[key] {
                    lines.append(text)
                } else if case .string(let localized)? = alert[key == "body" ? "loc-key" : key + "-loc-key"] {
                    lines.append("(\(localized))")
                }
            }
        default: break
        }
        if case .integer(let badge)? = aps["badge"] { lines.append("badge \(badge)") }
        if case .string(let sound)? = aps["sound"] { lines.append("sound \(sound)") }
        return lines.isEmpty ? ["(nothing to see: the app is told in the background)"] : lines
    }

    private var shortToken: String {
        let token = path.split(separator: "/").last.map(String.init) ?? path
        return token.count > 16 ? "\(token.prefix(8))…\(token.suffix(4))" : token
    }

    private static func printable(_ line: String) -> String {
        String(
            String.UnicodeScalarView(
                line.unicodeScalars.map { $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }
            )
        )
    }
}
