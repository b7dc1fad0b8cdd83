internal import FanfareConfiguration
package import PushTransport

/// One of an app's credentials.
package struct ProviderCredential {
    /// What people call it, such as `APNs certificate`.
    package let name: String
    /// Reads it: when it ends, in seconds since 1970; nil for one that holds until somebody revokes it.
    package let end: () throws(DaemonError) -> Int64?
}

/// Whose credentials are looked at, and what reads them.
package struct CredentialCheckup {
    /// The app.
    package let app: String
    /// Reads the files.
    package let files: CredentialFiles
    /// Makes transports as configured.
    package let transports: ProviderTransports
    /// Seconds since 1970.
    package let now: Int64

    /// Takes over what is given.
    package init(app: String, files: CredentialFiles, transports: ProviderTransports, now: Int64) {
        (self.app, self.files, self.transports, self.now) = (app, files, transports, now)
    }

    /// Looks at one thing; a file that cannot be used is a finding.
    ///
    /// - Parameters:
    ///   - name: what the item is called; ` of ` and the app are added.
    ///   - body: looks.
    /// - Returns: what it found.
    package func item(_ name: String, _ body: (String) throws(DaemonError) -> CheckItem) -> CheckItem {
        let name = "\(name) of \(app)"
        do throws(DaemonError) {
            return try body(name)
        } catch {
            return CheckItem(.fail, name, error.reason, advice: error.hint)
        }
    }

    /// Looks at a CA file of one's own, if there is one.
    ///
    /// - Parameters:
    ///   - provider: what people call the provider.
    ///   - file: the file; nil for none.
    ///   - endpoint: the provider's; any where it has many, since nothing is connected.
    /// - Returns: an item, or none.
    package func trustItem(_ provider: String, _ file: String?, _ endpoint: Endpoint = .fcm) -> [CheckItem] {
        guard let file else { return [] }
        let item = "\(provider) CA file of \(app)"
        var options = TransportOptions()
        options.caFile = file
        do throws(TransportError) {
            _ = try transports.make(endpoint, options)
            return [CheckItem(.ok, item, file)]
        } catch {
            return [CheckItem(.fail, item, "\(error)", advice: "It holds the certificates to trust, as PEM.")]
        }
    }
}
