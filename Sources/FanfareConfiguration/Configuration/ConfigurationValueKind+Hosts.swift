internal import PushTransport

extension ConfigurationValueKind<[String]> {
    /// Patterns of hosts, at least one.
    package static var hosts: Self {
        checked("names such as push.example.com or *.example.com, with or without a port", atLeast: 1) {
            text throws(DestinationPolicyError) in _ = try DestinationPolicy(hosts: [text])
        }
    }

    /// Blocks of addresses.
    package static var networks: Self {
        checked("blocks such as 10.1.0.0/16 or fd00::/8", atLeast: 0) {
            text throws(DestinationPolicyError) in _ = try DestinationPolicy(hosts: [], networks: [text])
        }
    }

    private static func checked(
        _ description: String,
        atLeast count: Int,
        _ check: @escaping @Sendable (String) throws(DestinationPolicyError) -> Void
    ) -> Self {
        .init(
            name: "list of strings",
            range: description,
            parse: { (raw, _) throws(ConfigurationValueError) in
                let texts = try raw.list(expected: "expected a list of strings")
                guard texts.count >= count else {
                    throw ConfigurationValueError("expected at least \(count), found none")
                }
                for (index, text) in texts.enumerated() {
                    do throws(DestinationPolicyError) {
                        try check(text)
                    } catch {
                        throw ConfigurationValueError("\(error)", element: index)
                    }
                    guard !texts[..<index].contains(text) else {
                        throw ConfigurationValueError("“\(text)” is listed twice", element: index)
                    }
                }
                return texts
            },
            text: { "[\($0.joined(separator: ", "))]" }
        )
    }
}
