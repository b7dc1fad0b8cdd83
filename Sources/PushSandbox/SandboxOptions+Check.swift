extension SandboxOptions {
    /// Rejects invalid values.
    func check() throws(SandboxError) {
        for (name, value) in [("team id", teamID), ("key id", keyID)] {
            // Also keeps the key's file name inside the folder.
            let isWellFormed =
                value.utf8.count == 10
                && value.unicodeScalars.allSatisfy {
                    $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0)
                }
            guard isWellFormed else {
                throw SandboxError(.invalidOption, "\(name): must be 10 letters and digits, like ABC123DEFG")
            }
        }
        guard !topics.isEmpty, !topics.contains("") else {
            throw SandboxError(.invalidOption, "topics: at least one bundle id is needed, like com.example.demo")
        }
        for name in configuredProviders where !PushSandbox.providers.contains(name) {
            let known = PushSandbox.providers.joined(separator: ", ")
            throw SandboxError(.invalidOption, "provider \(name): must be one of \(known)")
        }
        guard !appName.isEmpty else {
            throw SandboxError(.invalidOption, "app name: must not be empty")
        }
        for (name, port) in [
            ("TLS port", tlsPort), ("sandbox TLS port", sandboxTLSPort), ("control port", controlPort),
        ] {
            guard (0...65_535).contains(port) else {
                throw SandboxError(.invalidOption, "\(name): must be from 0 to 65535, 0 for a free one")
            }
        }
        try checkFCM()
        guard [streamLimit, firstStreamLimit, openStreamLimit].allSatisfy((1...100_000).contains) else {
            throw SandboxError(.invalidOption, "stream limit: must be from 1 to 100000")
        }
        guard (1...Int(Int32.max)).contains(initialWindow) else {
            throw SandboxError(.invalidOption, "initial window: must be from 1 to 2147483647 bytes")
        }
        guard (1...64).contains(threads) else {
            throw SandboxError(.invalidOption, "threads: must be from 1 to 64")
        }
    }

    private func checkFCM() throws(SandboxError) {
        for (name, value) in [("project id", projectID), ("package name", packageName)] {
            // The values become part of paths and of an address.
            let isWellFormed = value.unicodeScalars.allSatisfy {
                $0.isASCII
                    && ($0.properties.isAlphabetic || ("0"..."9").contains($0) || $0 == "-" || $0 == "." || $0 == "_")
            }
            guard !value.isEmpty, isWellFormed else {
                throw SandboxError(
                    .invalidOption,
                    "\(name): must be letters, digits, hyphens and dots, like demo-project"
                )
            }
        }
        guard accessTokenLifetime > 0 else {
            throw SandboxError(.invalidOption, "access token lifetime: must be 1 s or more")
        }
        guard projectQuota ?? 1 > 0, deviceQuota ?? 1 > 0 else {
            throw SandboxError(.invalidOption, "quota: must be 1 or more messages per minute")
        }
        guard topicQuota ?? 1 > 0 else {
            throw SandboxError(.invalidOption, "topic quota: must be 1 or more changes a second")
        }
        guard [400, 429].contains(topicLimitStatus) else {
            throw SandboxError(.invalidOption, "topic limit status: must be 400 or 429")
        }
    }
}
