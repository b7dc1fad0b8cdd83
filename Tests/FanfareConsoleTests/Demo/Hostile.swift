@testable import FanfareConsoleView

/// A page in which every text is hostile markup, or far too long.
struct Hostile: ViewContext {
    let page: any ViewContext
    let text: String
    /// The names of the properties to replace; empty for all.
    var only: Set<String> = []

    /// Markup that breaks pages with missing escapes, on one line.
    static let markup = [
        #"<script>alert(1)</script>"#, #""><img src=x onerror=alert(1)>"#, #"' onmouseover='alert(1)"#,
        "\"\u{301} autofocus onfocus=alert(1) x=\u{301}\"", "<\u{200D}/title><svg onload=alert(1)>",
        "{{frame.version}}{{{.}}}",
        "</textarea></pre></script><!--", "&lt;&amp;&#60;", "\u{202E}gnp.exe\u{0}\u{B}", "javascript:alert(1)",
        "${7*7}<%= 1 %>",
    ].joined(separator: " ")
    /// Text that breaks layouts made for short names.
    static let long =
        "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft_0123456789012345678901234567890123456789012345678901234567890123456789"
    /// The properties with text from users.
    static let written: Set<String> = [
        "type", "key", "name", "user", "detail", "reason", "subject", "rule", "code", "schedule", "category", "app",
        "title", "body",
        "eventType", "daemon", "event", "audience", "installation", "locale", "target", "json", "definition",
    ]

    func child(named name: String) -> Any? {
        let isMeant = only.isEmpty || only.contains(name)
        return switch page.child(named: name) {
        case let value as any ViewContext where !(value is Markup): Hostile(page: value, text: text, only: only)
        case let values as [any ViewContext]: values.map { Hostile(page: $0, text: text, only: only) }
        case let value as String: isMeant ? text + value : value
        case let values as [String]: isMeant ? values.map { text + $0 } : values
        case let value: value
        }
    }
}
