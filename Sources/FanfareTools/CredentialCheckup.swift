internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareService
internal import Foundation
internal import PushCrypto
internal import PushTransport

/// Looks at the files that one app's credentials are in.
struct CredentialCheckup {
    /// A certificate that ends sooner is worth a warning.
    private static let notice: Int64 = 30 * 86_400

    let name: String
    let app: Configuration.App
    let files: CredentialFiles
    let transports: ProviderTransports
    /// Seconds since 1970.
    let now: Int64

    /// What was found, provider by provider.
    var items: [CheckItem] {
        var items: [CheckItem] = []
        if let apns = app.apns {
            items.append(apns.certificateFile == nil ? keyItem(apns) : certificateItem(apns))
            items += trustItem("APNs", apns.caFile, apns.endpoint)
        }
        if let fcm = app.fcm {
            items.append(accountItem(fcm))
            items += trustItem("FCM", fcm.caFile, fcm.endpoint)
        }
        if let webPush = app.webPush {
            items.append(vapidItem(webPush))
            items += trustItem("Web Push", webPush.caFile, .fcm)
        }
        return items
    }

    private func keyItem(_ apns: Configuration.APNS) -> CheckItem {
        item("APNs key of \(name)") { item throws(DaemonError) in
            _ = try files.signingKey(apns, app: name)
            return CheckItem(.ok, item, "\(apns.keyFile) is an EC P-256 key, and guarded")
        }
    }

    private func certificateItem(_ apns: Configuration.APNS) -> CheckItem {
        item("APNs certificate of \(name)") { item throws(DaemonError) in
            guard let certificate = try files.certificate(apns, app: name, now: now) else {
                return CheckItem(.fail, item, "none is configured", advice: "Set certificate_file.")
            }
            let end = Date(timeIntervalSince1970: TimeInterval(certificate.notAfter)).ISO8601Format()
            let topics = certificate.topics.map(\.name).joined(separator: ", ")
            let detail = "\(certificate.source) is valid until \(end), for \(topics)"
            guard certificate.notAfter - now < Self.notice else { return CheckItem(.ok, item, detail) }
            let days = (certificate.notAfter - now) / 86_400
            let left = days == 1 ? "1 day" : "\(days) days"
            return CheckItem(
                .warn,
                item,
                "\(detail): \(left) left",
                advice: "Renew it on Apple's developer site, replace the file and send the daemon HUP."
            )
        }
    }

    private func accountItem(_ fcm: Configuration.FCM) -> CheckItem {
        item("FCM service account of \(name)") { item throws(DaemonError) in
            let account = try files.serviceAccount(fcm, app: name)
            return CheckItem(.ok, item, "\(account.clientEmail), for project \(account.projectID)")
        }
    }

    private func vapidItem(_ webPush: Configuration.WebPush) -> CheckItem {
        item("VAPID key of \(name)") { item throws(DaemonError) in
            let key = try files.vapidKey(webPush, app: name)
            let detail = "\(webPush.vapidKeyFile) is an EC P-256 key, and guarded; browsers subscribe with "
            return CheckItem(.ok, item, detail + "\(key.publicKey), services may write to \(webPush.subject)")
        }
    }

    /// Looks at a CA file of one's own, if there is one.
    private func trustItem(_ provider: String, _ file: String?, _ endpoint: Endpoint) -> [CheckItem] {
        guard let file else { return [] }
        let item = "\(provider) CA file of \(name)"
        var options = TransportOptions()
        options.caFile = file
        do throws(TransportError) {
            _ = try transports.make(endpoint, options)
            return [CheckItem(.ok, item, file)]
        } catch {
            return [CheckItem(.fail, item, "\(error)", advice: "It holds the certificates to trust, as PEM.")]
        }
    }

    private func item(_ name: String, _ body: (String) throws(DaemonError) -> CheckItem) -> CheckItem {
        do throws(DaemonError) {
            return try body(name)
        } catch {
            return CheckItem(.fail, name, error.reason, advice: error.hint)
        }
    }
}
