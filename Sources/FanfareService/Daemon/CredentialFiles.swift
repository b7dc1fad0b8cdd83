package import FanfareConfiguration
internal import Foundation
package import PushCrypto
package import PushTransport

/// Reads the files that an app's credentials are in; each error names the key of the configuration.
package struct CredentialFiles: Sendable {
    private let guardedFolders: [String]

    /// - Parameter environment: variables of the process, for ``GuardedFolders``.
    package init(environment: [String: String]) {
        guardedFolders = GuardedFolders.paths(environment: environment)
    }

    /// Reads an APNs signing key.
    package func signingKey(_ apns: Configuration.APNS, app: String) throws(DaemonError) -> SigningKey {
        try read("apps.\(app).apns.key_file", from: "Apple's developer site makes the .p8 file.") {
            () throws(KeyError) in
            try SigningKey.load(pemFile: apns.keyFile, expecting: .es256, guardedFolders: guardedFolders)
        }
    }

    /// What signs for APNs: the tokens of a signing key.
    package func providerTokens(_ apns: Configuration.APNS, app: String) throws(DaemonError) -> ProviderTokens {
        ProviderTokens(key: try signingKey(apns, app: app), keyID: apns.keyID, teamID: apns.teamID)
    }

    /// Reads an APNs certificate and checks that it is valid now, and for the app's topic.
    ///
    /// - Parameters:
    ///   - apns: the app's APNs credentials.
    ///   - app: its name.
    ///   - now: seconds since 1970.
    /// - Returns: the certificate; nil if the app signs with a key.
    /// - Throws: ``DaemonError`` for a file, password, date or topic that will not do.
    package func certificate(
        _ apns: Configuration.APNS,
        app: String,
        now: Int64
    ) throws(DaemonError) -> APNsCertificate? {
        guard let file = apns.certificateFile else { return nil }
        let origin = "Export certificate and key together, as .p12 or .pem, valid and for the app's bundle id."
        return try read("apps.\(app).apns.certificate_file", from: origin) { () throws(KeyError) in
            let certificate = try APNsCertificate.load(
                file: file,
                passwordFile: apns.certificatePasswordFile,
                guardedFolders: guardedFolders
            )
            try certificate.check(topic: apns.topic, at: now)
            return certificate
        }
    }

    /// What a TLS handshake with APNs shows: the certificate, if it can be used now; nil if the app signs with a key.
    package func clientCertificate(_ apns: Configuration.APNS, app: String) throws(DaemonError) -> ClientCertificate? {
        guard let shown = try certificate(apns, app: app, now: Clocks.wallSeconds) else { return nil }
        return ClientCertificate(chain: shown.chainPEM, privateKey: shown.privateKeyPEM)
    }

    /// Reads a service account.
    package func serviceAccount(_ fcm: Configuration.FCM, app: String) throws(DaemonError) -> ServiceAccount {
        let origin = "The Firebase console makes it: project settings, service accounts, new private key."
        return try read("apps.\(app).fcm.service_account_file", from: origin) { () throws(KeyError) in
            try ServiceAccount.load(jsonFile: fcm.serviceAccountFile, guardedFolders: guardedFolders)
        }
    }

    /// Reads a VAPID key.
    package func vapidKey(_ webPush: Configuration.WebPush, app: String) throws(DaemonError) -> VAPIDKey {
        let origin = "`fanfare vapid-keys` makes one; browsers that subscribed with another key must subscribe again."
        return try read("apps.\(app).webpush.vapid_key_file", from: origin) { () throws(KeyError) in
            try VAPIDKey.load(pemFile: webPush.vapidKeyFile, guardedFolders: guardedFolders)
        }
    }

    /// Reads a file; where another one is needed, `origin` says where such a file comes from.
    private func read<Value>(
        _ key: String,
        from origin: String,
        _ body: () throws(KeyError) -> Value
    ) throws(DaemonError) -> Value {
        do throws(KeyError) {
            return try body()
        } catch {
            let mend = error.reason.mend
            let hint = mend.prefix(1).uppercased() + mend.dropFirst() + "."
            throw DaemonError(
                .configuration,
                "\(key): \(error.source): \(error.reason.problem)",
                hint: error.reason.needsAnotherFile ? "\(hint) \(origin)" : hint
            )
        }
    }
}
