internal import FanfareConfiguration
package import PushTransport

/// One of an app's credentials.
package struct ProviderCredential {
    /// The name for people, such as `APNs certificate`.
    package let name: String
    /// Reads the credential and returns when it expires, in seconds since 1970; nil if it holds until it is revoked.
    package let end: () throws(DaemonError) -> Int64?
}

/// The app whose credentials are checked, and the means to check them.
package struct CredentialCheckup {
    /// The app.
    package let app: String
    /// Reads the files.
    package let files: CredentialFiles
    /// Makes transports with the configured options.
    package let transports: ProviderTransports
    /// Seconds since 1970.
    package let now: Int64

    /// Makes a checkup.
    package init(app: String, files: CredentialFiles, transports: ProviderTransports, now: Int64) {
        (self.app, self.files, self.transports, self.now) = (app, files, transports, now)
    }

    /// Runs one check; a file that cannot be used becomes a finding.
    ///
    /// - Parameters:
    ///   - name: the item's name, to which ` of ` and the app are added.
    ///   - body: runs the check.
    /// - Returns: the finding.
    package func item(_ name: String, _ body: (String) throws(DaemonError) -> CheckItem) -> CheckItem {
        let name = "\(name) of \(app)"
        do throws(DaemonError) {
            return try body(name)
        } catch {
            return CheckItem(.fail, name, error.reason, advice: error.hint)
        }
    }

    /// Checks the configured CA file, if there is one.
    ///
    /// - Parameters:
    ///   - provider: the provider's name for people.
    ///   - file: the file; nil for none.
    ///   - endpoint: the provider's endpoint; any if it has many, because nothing is connected.
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
