internal import FanfareCore
internal import Logging
package import PushTransport

/// A kind of value: how it is parsed, and how the reference describes it.
package struct ConfigurationValueKind<Value: Equatable & Sendable>: Sendable {
    /// The name of the type in the reference.
    package let name: String
    /// The allowed values, in the reference; nil if the type suffices.
    package let range: String?
    /// Reads a value.
    package let parse: @Sendable (ConfigurationText, ConfigurationPlace) throws(ConfigurationValueError) -> Value
    /// Formats a value as in the file; nil if there is none.
    package let text: @Sendable (Value) -> String?

    /// Describes a kind of value.
    ///
    /// - Parameters:
    ///   - name: the name of the type in the reference.
    ///   - range: the allowed values, in the reference; nil if the type suffices.
    ///   - parse: reads a value.
    ///   - text: formats a value as in the file; nil if there is none.
    package init(
        name: String,
        range: String?,
        parse: @escaping @Sendable (ConfigurationText, ConfigurationPlace) throws(ConfigurationValueError) -> Value,
        text: @escaping @Sendable (Value) -> String?
    ) {
        (self.name, self.range, self.parse, self.text) = (name, range, parse, text)
    }

    /// The same kind for a value that may be missing.
    package var optional: ConfigurationValueKind<Value?> {
        let (parse, text) = (parse, text)
        return .init(
            name: name,
            range: range,
            parse: { (raw, place) throws(ConfigurationValueError) in try parse(raw, place) },
            text: { $0.flatMap(text) }
        )
    }
}

/// Why a value was refused, without its place.
package struct ConfigurationValueError: Error {
    package let reason: String
    /// The index of the refused element of a list; nil if the whole value is refused.
    package let element: Int?

    package init(_ reason: String, element: Int? = nil) {
        (self.reason, self.element) = (reason, element)
    }
}

/// The context in which a path is resolved.
package struct ConfigurationPlace: Sendable {
    /// Absolute path that relative paths are resolved against.
    var directory: String
    /// The values for `${NAME}`.
    var environment: [String: String]
    /// Whether a path keeps `${NAME}` if the variable is not set.
    ///
    /// Such a path must not be opened.
    var leavesVariables = false
}

extension ConfigurationValueKind<Int> {
    /// A whole number within bounds.
    package static func integer(_ range: ClosedRange<Int>) -> Self {
        let expected = "expected an integer from \(range.lowerBound) to \(range.upperBound)"
        return .init(
            name: "integer",
            range: "\(range.lowerBound)–\(range.upperBound)",
            parse: { (raw, _) throws(ConfigurationValueError) in
                let text = try raw.number(expected: expected)
                guard let value = Int(text), range.contains(value) else {
                    throw ConfigurationValueError("\(expected), found \(text.prefix(24))")
                }
                return value
            },
            text: { String($0) }
        )
    }
}

extension ConfigurationValueKind<Duration> {
    /// A time span within bounds, in whole multiples of a step.
    package static func duration(_ range: ClosedRange<Duration>, step: Duration = .seconds(1)) -> Self {
        let (low, high) = (text(range.lowerBound), text(range.upperBound))
        let unit = step == .seconds(1) ? "" : " in steps of \(text(step))"
        let expected = "expected a duration from \(low) to \(high)\(unit), such as 90s, 15m, 4h or 7d"
        return .init(
            name: "duration",
            range: "\(low)–\(high)\(unit)",
            parse: { (raw, _) throws(ConfigurationValueError) in
                let text = try raw.string(expected: expected)
                guard let span = TimeSpan(text), range.contains(.seconds(span.seconds)),
                    span.seconds % step.components.seconds == 0
                else { throw ConfigurationValueError("\(expected), found \(text.prefix(24))") }
                return .seconds(span.seconds)
            },
            text: text
        )
    }

    private static func text(_ duration: Duration) -> String {
        "\(TimeSpan(seconds: duration.components.seconds))"
    }
}

extension ConfigurationValueKind<String> {
    /// Text of limited length from a limited alphabet.
    ///
    /// - Parameters:
    ///   - description: the allowed text, for the reference and the message: `10 capital letters and digits`.
    ///   - length: the length in characters.
    ///   - allowed: the alphabet.
    /// - Returns: the kind.
    package static func text(
        _ description: String,
        length: ClosedRange<Int>,
        allowed: @escaping @Sendable (Character) -> Bool
    ) -> Self {
        .init(
            name: "string",
            range: description,
            parse: { (raw, _) throws(ConfigurationValueError) in
                let text = try raw.string(expected: "expected \(description)").withoutVariables()
                // The message does not quote the text, because it may be a misplaced secret.
                guard length.contains(text.count) else {
                    throw ConfigurationValueError("expected \(description), found \(text.count) characters")
                }
                if let other = text.first(where: { !allowed($0) }) {
                    throw ConfigurationValueError("expected \(description), found “\(other)” in it")
                }
                return text
            },
            text: { $0.isEmpty ? nil : $0 }
        )
    }

    /// A file's path: `${NAME}` expanded, made absolute.
    package static var path: Self {
        .init(
            name: "path",
            range: nil,
            parse: { (raw, place) throws(ConfigurationValueError) in
                let text = try raw.string(expected: "expected the path of a file")
                guard !text.isEmpty, !text.contains("-----BEGIN"), !text.contains(where: \.isNewline) else {
                    throw ConfigurationValueError("expected the path of a file, not its content")
                }
                return try place.path(text)
            },
            text: { $0.isEmpty ? nil : $0 }
        )
    }
}

extension ConfigurationValueKind<String> {
    /// The path under which a proxy serves the program; empty for the root.
    package static var basePath: Self {
        let expected = "a path such as /fanfare: letters, digits and . _ ~ - between slashes, none at the end"
        return .init(
            name: "string",
            range: "/PATH",
            parse: { (raw, _) throws(ConfigurationValueError) in
                let text = try raw.string(expected: "expected \(expected)")
                let segments = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
                guard text.isEmpty || text.hasPrefix("/"), text.utf8.count <= 200,
                    segments.allSatisfy({ segment in
                        segment.wholeMatch(of: /[A-Za-z0-9._~-]+/) != nil && segment != "." && segment != ".."
                    })
                else { throw ConfigurationValueError("expected \(expected), found “\(text.prefix(80))”") }
                return text
            },
            text: { $0.isEmpty ? nil : $0 }
        )
    }
}

extension ConfigurationValueKind<[String]> {
    /// A list of distinct names; in an environment variable separated by commas.
    ///
    /// - Parameters:
    ///   - description: the form of a name.
    ///   - bytes: the length of a name in UTF-8.
    /// - Returns: the kind.
    package static func names(_ description: String, bytes: ClosedRange<Int>) -> Self {
        .init(
            name: "list of strings",
            range: description,
            parse: { (raw, _) throws(ConfigurationValueError) in
                let names = try raw.list(expected: "expected a list of strings")
                for name in names where !bytes.contains(name.utf8.count) || name.contains("\0") {
                    throw ConfigurationValueError("expected \(description), found “\(name.prefix(80))”")
                }
                if let name = names.first(where: { name in names.count { $0 == name } > 1 }) {
                    throw ConfigurationValueError("“\(name)” is listed twice")
                }
                return names
            },
            text: { "[\($0.joined(separator: ", "))]" }
        )
    }
}

extension ConfigurationValueKind where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of the cases of an enumeration.
    package static var choice: Self {
        .init(
            name: "string",
            range: Value.allNames.joined(separator: " | "),
            parse: { (raw, _) throws(ConfigurationValueError) in
                try Value.named(try raw.string(expected: Value.expectation))
            },
            text: { $0.rawValue }
        )
    }
}

extension ConfigurationValueKind {
    /// Distinct cases of an enumeration.
    package static func choices<Element>() -> Self
    where Value == [Element], Element: RawRepresentable & CaseIterable, Element.RawValue == String {
        .init(
            name: "list of strings",
            range: Element.allNames.joined(separator: " | "),
            parse: { (raw, _) throws(ConfigurationValueError) in
                var values: [Element] = []
                for name in try raw.list(expected: "expected a list of strings") {
                    let value = try Element.named(name)
                    guard !values.contains(where: { $0.rawValue == name }) else {
                        throw ConfigurationValueError("“\(name)” is listed twice")
                    }
                    values.append(value)
                }
                return values
            },
            text: { "[\($0.map(\.rawValue).joined(separator: ", "))]" }
        )
    }
}

extension RawRepresentable where Self: CaseIterable, RawValue == String {
    fileprivate static var allNames: [String] { allCases.map(\.rawValue) }
    fileprivate static var expectation: String { "expected one of \(allNames.joined(separator: ", "))" }

    /// Returns the case with a name.
    fileprivate static func named(_ text: String) throws(ConfigurationValueError) -> Self {
        guard let value = Self(rawValue: text) else {
            let near = NearestName.suggestion(for: text, among: allNames).map { "; did you mean “\($0)”?" } ?? ""
            throw ConfigurationValueError("\(expectation), found “\(text.prefix(40))”\(near)")
        }
        return value
    }
}

extension ConfigurationValueKind<Endpoint> {
    /// An HTTPS origin.
    package static var endpoint: ConfigurationValueKind<Endpoint> {
        let expected = "expected https://HOST or https://HOST:PORT, without a path"
        return .init(
            name: "URL",
            range: "https://HOST[:PORT]",
            parse: { (raw, _) throws(ConfigurationValueError) in
                let text = try raw.string(expected: expected).withoutVariables()
                guard let endpoint = try? Endpoint(text) else { throw ConfigurationValueError(expected) }
                return endpoint
            },
            text: { $0.description }
        )
    }
}

extension ConfigurationValueKind<HTTPProxy> {
    /// An HTTP proxy's address; messages never quote it.
    package static var proxy: ConfigurationValueKind<HTTPProxy> {
        .init(
            name: "URL",
            range: "http://HOST:PORT or https://HOST:PORT",
            parse: { (raw, _) throws(ConfigurationValueError) in
                let text = try raw.string(expected: "expected http://HOST:PORT or https://HOST:PORT").withoutVariables()
                do throws(HTTPProxyError) {
                    return try HTTPProxy(text)
                } catch {
                    throw ConfigurationValueError("\(error)")
                }
            },
            text: { $0.description }
        )
    }
}

extension ConfigurationValueKind<DatabaseURL> {
    /// A connection string of libpq; messages never quote it.
    package static var databaseURL: Self {
        let expected = "expected postgres://USER@HOST/DATABASE or “host=… dbname=…”"
        return .init(
            name: "URL",
            range: "postgres://… or keyword=value pairs",
            parse: { (raw, _) throws(ConfigurationValueError) in
                let text = try raw.string(expected: expected).withoutVariables()
                guard !text.contains("\0"), DatabaseURL.isURI(text) || text.contains("=") && !text.contains("://")
                else { throw ConfigurationValueError(expected) }
                return DatabaseURL(text)
            },
            text: { $0.connectionString.isEmpty ? nil : $0.description }
        )
    }
}
