import Foundation

extension SandboxFolder {
    /// The first line of a configuration that the sandbox wrote and may replace.
    private static let replaceable =
        "# Written by the Fanfare sandbox at each start, as ports change. Remove this line to keep the file."

    /// Writes the files that name the ports, replacing those of an earlier start: the service account, and the
    /// configuration of a daemon that pushes to this sandbox.
    ///
    /// A configuration without the sandbox's first line is the user's and is not replaced.
    ///
    /// - Parameters:
    ///   - options: the app name, credentials, database, and the providers of the configuration.
    ///   - ports: the ports of the production and the sandbox environment.
    /// - Throws: `SandboxError` naming the file.
    func writeConfiguration(_ options: SandboxOptions, ports: (production: Int, sandbox: Int)) throws {
        let files = FolderFiles(path: path)
        let origin = SandboxReady.origin(port: ports.production)
        let account = serviceAccount.file(tokenURI: origin + OAuthSimulator.path)
        try files.write(account, to: FileName.serviceAccount, secret: true)
        if let kept = try files.read("fanfare.yaml"), !kept.hasPrefix("# Written by the Fanfare sandbox") { return }
        var lines = [Self.replaceable]
        if let url = options.databaseURL {
            lines += ["database:", "  url: \(SandboxPlace.quoted(url))"]
        }
        lines += ["apps:", "  \(SandboxPlace.quoted(options.appName)):"]
        let place = SandboxPlace(options, ports: ports, secret: subscriberSecret)
        for provider in SimulatedProviders.all where options.configuredProviders.contains(provider.name) {
            lines.append("    \(provider.name):")
            lines += provider.configuration(place).map { "      " + $0 }
        }
        // The database URL may hold a password.
        try files.write(lines.joined(separator: "\n") + "\n", to: "fanfare.yaml", secret: true)
    }
}
