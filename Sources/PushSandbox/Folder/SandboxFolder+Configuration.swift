import Foundation

extension SandboxFolder {
    /// Writes what names the ports, replacing that of an earlier start: the service account and the configuration of
    /// a daemon that pushes to this sandbox.
    ///
    /// - Parameters:
    ///   - options: app name, credentials, database, and whose blocks the configuration gets.
    ///   - ports: the production and the sandbox environment's.
    /// - Throws: `SandboxError` naming the file.
    func writeConfiguration(_ options: SandboxOptions, ports: (production: Int, sandbox: Int)) throws {
        let files = FolderFiles(path: path)
        let origin = SandboxReady.origin(port: ports.production)
        let account = serviceAccount.file(tokenURI: origin + OAuthSimulator.path)
        try files.write(account, to: FileName.serviceAccount, secret: true)
        var lines = ["# Written by the Fanfare sandbox at each start: ports change, edits are lost."]
        if let url = options.databaseURL {
            lines += ["database:", "  url: \(quoted(url))"]
        }
        lines += ["apps:", "  \(quoted(options.appName)):"]
        for provider in SandboxOptions.ConfiguredProvider.allCases
        where options.configuredProviders.contains(provider) {
            switch provider {
            case .apns: lines += apnsBlock(options, origin, SandboxReady.origin(port: ports.sandbox))
            case .fcm: lines += fcmBlock(origin)
            case .webpush: lines += webPushBlock(options)
            }
        }
        // The database URL may hold a password.
        try files.write(lines.joined(separator: "\n") + "\n", to: "fanfare.yaml", secret: true)
    }

    private func apnsBlock(_ options: SandboxOptions, _ origin: String, _ sandboxOrigin: String) -> [String] {
        [
            "    apns:",
            "      team_id: \(quoted(options.teamID))",
            "      key_id: \(quoted(options.keyID))",
            "      key_file: \(quoted("AuthKey_\(options.keyID).p8"))",
            "      # Or, instead of these three, certificate_file: \(FileName.certificate) (or .pem) and",
            "      # certificate_password_file: \(FileName.certificatePassword)",
            "      topic: \(quoted(options.topics.first ?? ""))",
            "      endpoint: \(origin)",
            "      sandbox_endpoint: \(sandboxOrigin)",
            "      ca_file: ca.pem",
        ]
    }

    private func fcmBlock(_ origin: String) -> [String] {
        [
            "    fcm:",
            "      service_account_file: \(FileName.serviceAccount)",
            "      endpoint: \(origin)",
            "      ca_file: ca.pem",
        ]
    }

    private func webPushBlock(_ options: SandboxOptions) -> [String] {
        [
            "    webpush:",
            "      vapid_key_file: \(FileName.vapidKey)",
            "      subject: \(quoted(options.vapidSubject))",
            "      allowed_hosts: [ \"localhost\" ]",
            "      allowed_networks: [ \"127.0.0.1/32\", \"::1/128\" ]",
            "      ca_file: ca.pem",
        ]
    }

    /// A YAML double-quoted scalar; JSON strings are a subset of those.
    private func quoted(_ text: String) -> String {
        JSONValue.quoted(text)
    }
}
