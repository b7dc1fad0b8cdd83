import FanfareCore
import FanfareExplain
import FanfareProviders
import FanfareTools

extension RuleExplanation {
    /// The request as text for people.
    var text: String {
        let edition = variant.map { "  variant \($0)" } ?? ""
        let locale = matchedLocale.map { "locale \($0)" } ?? "default language"
        var lines = ["\(app)/\(rule)  \(provider.rawValue)\(edition)  \(locale)"]
        if let problem { return (lines + ["  nothing is sent: \(problem)"]).joined(separator: "\n") }
        lines += headers.map { "  \($0.name): \($0.value.printable)" }
        lines.append(
            "  (\(headerBytes) bytes of headers; \(Providers.named(provider.rawValue)?.addedHeaders ?? "nothing is") added to each request)"
        )
        if isSilent { lines.append("  (silent: it wakes the app when iOS sees fit, and shows nothing)") }
        lines.append("")
        lines += Self.indented(body).split(separator: "\n").map { "  " + String($0).printable }
        let note = Providers.named(provider.rawValue)?.bodyNote ?? ""
        lines.append("  (\(body.utf8.count) bytes of body\(note))")
        return lines.joined(separator: "\n")
    }

    private static func indented(_ body: String) -> String {
        (try? JSONValue(parsing: body))?.indented() ?? body
    }
}
