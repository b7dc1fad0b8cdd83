import Foundation
import PushTransport
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools
@testable import fanfare

/// The findings of `fanfare check` in credential files.
@Suite struct CredentialCheckupTests {
    let openssl: OpenSSL
    let now = Int64(Date().timeIntervalSince1970)

    init() throws { openssl = try OpenSSL() }

    /// Returns the items at a time after ``now``; without days a minute later, since files are created in between.
    private func items(_ app: Configuration.App, after days: Int64? = nil) -> [CheckItem] {
        let files = CredentialFiles(environment: [:])
        let later = days.map { $0 * 86_400 } ?? 60
        let checkup = CredentialCheckup(
            app: "shop",
            files: files,
            transports: ProviderTransports(Configuration.Send()),
            now: now + later
        )
        return Providers.all.flatMap { $0.checkup(of: app, checkup) }
    }

    private func certificate(topic: String = "com.example.shop", password: Bool = true) -> Configuration.App {
        var apns = APNsSettings()
        apns.certificateFile = openssl.path("push.p12")
        apns.certificatePasswordFile = password ? openssl.path("password") : nil
        apns.topic = topic
        return Configuration.App(apns)
    }

    @Test func aCertificateShowsItsTopicsAndEnd() async throws {
        try await openssl.makeCertificate(days: 100)
        let item = try #require(items(certificate()).first)
        #expect(item.level == .ok)
        #expect(item.name == "APNs certificate of shop")
        #expect(item.detail.hasSuffix(", for com.example.shop"))
        // The certificate is created a moment later, perhaps on the next day.
        let ends = [0, 60].map { Date(timeIntervalSince1970: TimeInterval(now + 100 * 86_400 + $0)).ISO8601Format() }
        #expect(ends.contains { item.detail.contains("valid until \($0.prefix(10))") })
    }

    @Test(arguments: [(69 as Int64, CheckItem.Level.ok), (71, .warn), (99, .warn), (101, .fail)])
    func aCertificateThatEndsSoonIsAWarning(days: Int64, level: CheckItem.Level) async throws {
        try await openssl.makeCertificate(days: 100)
        let item = try #require(items(certificate(), after: days).first)
        #expect(item.level == level)
        #expect(item.advice.isEmpty == (level == .ok))
        if level == .warn { #expect(item.detail.hasSuffix(days == 99 ? ": 1 day left" : ": 29 days left")) }
        if level == .fail { #expect(item.detail.contains("the certificate expired at ")) }
    }

    @Test func aCertificateOfAnotherAppFails() async throws {
        try await openssl.makeCertificate(days: 100)
        let other = try #require(items(certificate(topic: "com.example.other")).first)
        #expect(other.level == .fail)
        #expect(other.detail.hasSuffix("is not for topic com.example.other, but for com.example.shop"))
        let locked = try #require(items(certificate(password: false)).first)
        #expect(locked.level == .fail)
        #expect(locked.detail.hasPrefix("apps.shop.apns.certificate_file: "))
        #expect(locked.advice.contains("set certificate_password_file"))
    }

    @Test func aWrongPasswordIsSaidAndAPEMFileNeedsNone() async throws {
        try await openssl.makeCertificate(days: 100)
        try openssl.write("password", "wrong\n")
        let locked = try #require(items(certificate()).first)
        #expect(locked.level == .fail)
        #expect(locked.detail.contains("password"), "\(locked.detail)")
        #expect(!locked.detail.contains("wrong"), "what was tried is not shown")
        try openssl.write("both.pem", openssl.read("push.pem") + openssl.read("push.key"))
        var app = certificate(password: false)
        app.apns?.certificateFile = openssl.path("both.pem")
        let plain = try #require(items(app).first)
        #expect(plain.level == .ok, "\(plain.detail)")
        #expect(plain.detail.hasSuffix(", for com.example.shop"))
        try await openssl.run(
            ["ec", "-in", "push.key", "-aes256", "-passout", "pass:secret", "-out", "locked.key"]
        )
        try openssl.write("both.pem", openssl.read("push.pem") + openssl.read("locked.key"))
        #expect(try #require(items(app).first).level == .fail, "a key with a password, and none is configured")
        try openssl.write("password", "secret\n")
        app.apns?.certificatePasswordFile = openssl.path("password")
        let opened = try #require(items(app).first)
        #expect(opened.level == .ok, "\(opened.detail)")
    }

    @Test func aKeyFileThatCannotBeUsedHasTheMendForThat() async throws {
        var apns = APNsSettings()
        func advice(_ name: String) throws -> String {
            apns.keyFile = openssl.path(name)
            let item = try #require(items(Configuration.App(apns)).first)
            #expect(item.level == .fail && item.detail.hasPrefix("apps.shop.apns.key_file: \(apns.keyFile): "))
            return item.advice
        }
        let origin = "Apple's developer site makes the .p8 file."
        #expect(try advice("none.p8").hasPrefix("Check the path"))
        try openssl.write("text.p8", "hello\n")
        #expect(try advice("text.p8") == "Use the file as it was downloaded. \(origin)")
        try await openssl.makeKey("open.p8")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: openssl.path("open.p8"))
        #expect(try advice("open.p8") == "Run chmod 600 on it.", "another file would not help")
        // A loop of links, since a test that runs as root can read files of any mode.
        try FileManager.default.createSymbolicLink(atPath: openssl.path("loop"), withDestinationPath: "loop")
        #expect(try advice("loop") == "Give the user that runs fanfare read permission.")
    }

    @Test func aServiceAccountNamesItsProject() async throws {
        try await openssl.makeServiceAccount(project: "shop-1234")
        var fcm = FCMSettings()
        fcm.serviceAccountFile = openssl.path("account.json")
        let item = try #require(items(Configuration.App(fcm)).first)
        #expect(item.level == .ok && item.name == "FCM service account of shop")
        #expect(item.detail == "push@shop-1234.example, for project shop-1234")
        try openssl.write("account.json", #"{"type":"authorized_user"}"#)
        let wrong = try #require(items(Configuration.App(fcm)).first)
        #expect(wrong.level == .fail)
        #expect(wrong.detail.hasPrefix("apps.shop.fcm.service_account_file: "))
    }

    @Test func aVAPIDKeyIsOfTheRightCurve() async throws {
        try await openssl.makeKey("vapid.pem")
        var webPush = WebPushSettings()
        webPush.vapidKeyFile = openssl.path("vapid.pem")
        webPush.subject = "mailto:push@example.com"
        let item = try #require(items(Configuration.App(webPush)).first)
        #expect(item.level == .ok && item.name == "VAPID key of shop")
        #expect(item.detail.contains("subscribe with B"))
        #expect(item.detail.hasSuffix("may write to mailto:push@example.com"))
        try await openssl.makeKey("vapid.pem", ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"])
        let wrong = try #require(items(Configuration.App(webPush)).first)
        #expect(wrong.level == .fail)
        #expect(wrong.detail.contains("on curve P-384"))
    }

    @Test func filesOfCAsAreRead() async throws {
        try await openssl.makeCertificate(days: 1)
        try openssl.write("empty.pem", "none\n")
        var app = certificate()
        app.apns?.caFile = openssl.path("push.pem")
        app.fcm = FCMSettings()
        app.fcm?.caFile = openssl.path("empty.pem")
        app.webPush = WebPushSettings()
        app.webPush?.caFile = openssl.path("nowhere.pem")
        let found = items(app).filter { $0.name.hasSuffix(" CA file of shop") }
        #expect(found.map(\.name) == ["APNs", "FCM", "Web Push"].map { "\($0) CA file of shop" })
        #expect(found.map(\.level) == [.ok, .fail, .fail])
    }
}

/// The results of `fanfare check --online` for FCM's answers.
@Suite struct FCMProbeTests {
    private func judge(_ status: UInt16, _ body: String) -> CheckItem {
        FCMProbe(app: "shop", credentials: FCMSettings(), transports: ProviderTransports(Configuration.Send()))
            .judge(PushAnswer(tag: 1, status: status, body: Array(body.utf8)), project: "shop-1")
    }

    private func error(_ status: String, _ code: String? = nil, _ message: String = "") -> String {
        let detail = code.map {
            #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#($0)"}"#
        }
        return #"{"error":{"status":"\#(status)","message":"\#(message)","details":[\#(detail ?? "")]}}"#
    }

    @Test func anErrorAboutTheTokenMeansThatAllElseIsInOrder() {
        let malformed = "The registration token is not a valid FCM registration token"
        for (status, body) in [
            (400 as UInt16, error("INVALID_ARGUMENT", "INVALID_ARGUMENT", malformed)),
            (404, error("NOT_FOUND", "UNREGISTERED")), (403, error("PERMISSION_DENIED", "SENDER_ID_MISMATCH")),
        ] {
            let item = judge(status, body)
            #expect(item.level == .ok && item.advice.isEmpty)
            #expect(item.detail == "https://fcm.googleapis.com takes the service account for project shop-1")
        }
    }

    @Test func otherErrorsSayWhatToLookAt() {
        for (status, body, level, word) in [
            (400 as UInt16, error("INVALID_ARGUMENT"), CheckItem.Level.fail, "documentation"),
            (401, error("UNAUTHENTICATED"), .fail, "service account"),
            (403, error("PERMISSION_DENIED"), .fail, "Enable the Firebase Cloud Messaging API of project shop-1"),
            (404, error("NOT_FOUND"), .fail, "Is there a Firebase project shop-1?"),
            (429, error("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"), .warn, "later"), (503, "<html>", .warn, "later"),
        ] {
            let item = judge(status, body)
            #expect(item.level == level, "\(status)")
            #expect(item.advice.contains(word), "\(item.advice)")
        }
        let probe = FCMProbe(
            app: "shop",
            credentials: FCMSettings(),
            transports: ProviderTransports(Configuration.Send())
        )
        let silent = probe.judge(
            PushAnswer(tag: 1, without: .notSent, cause: .tls, detail: "certificate expired"),
            project: "shop-1"
        )
        #expect(silent.level == .fail && silent.detail == "no answer: certificate expired")
    }
}

/// The probes against the simulated services.
@Suite(.flowSandbox, .database) struct OnlineProbeTests {
    let openssl: OpenSSL
    let ready: SandboxReady

    init() throws {
        openssl = try OpenSSL()
        ready = try Flow.idle().sandbox.ready
    }

    private func probe(_ change: (inout [String: String]) -> Void = { _ in }) async throws -> CheckItem {
        let source = URL(fileURLWithPath: ready.directory).appendingPathComponent("service-account.json")
        var fields = try JSONDecoder().decode([String: String].self, from: Data(contentsOf: source))
        change(&fields)
        var fcm = FCMSettings()
        fcm.endpoint = try Endpoint("https://localhost:\(ready.tlsPort)")
        fcm.caFile = ready.caFile
        fcm.serviceAccountFile = try openssl.write(
            "account.json",
            String(decoding: JSONEncoder().encode(fields), as: UTF8.self)
        )
        return try await onThread { [fcm] in
            FCMProbe(app: "shop", credentials: fcm, transports: ProviderTransports(Configuration.Send())).item(
                CredentialFiles(environment: [:])
            )
        }
    }

    @Test func anAccountInOrderIsTaken() async throws {
        let item = try await probe()
        #expect(item.level == .ok, "\(item.text)")
    }

    @Test func anotherKeyOrProjectIsRefused() async throws {
        try await openssl.makeServiceAccount(project: "other")
        let foreign = try String(decoding: openssl.read("account.key"), as: UTF8.self)
        let key = try await probe { $0["private_key"] = foreign }
        #expect(key.level == .fail)
        #expect(key.detail.contains(" invalid_grant"), "\(key.text)")
        let project = try await probe { $0["project_id"] = "nowhere" }
        #expect(project.level == .fail)
        #expect(project.advice == "Is there a Firebase project nowhere?", "\(project.text)")
    }

    @Test func aTokenEndpointThatIsNotThereIsNamed() async throws {
        let item = try await probe { $0["token_uri"] = "https://127.0.0.1:1/token" }
        #expect(item.level == .fail && item.detail.hasPrefix("no answer: "))
        #expect(item.advice.hasPrefix("Is https://127.0.0.1:1/token reachable"))
    }

    @Test(arguments: [false, true]) func apnsTakesAKeyOrACertificate(usesCertificate: Bool) async throws {
        let configuration = try Configuration.load(
            file: ready.configFile,
            environment: [:],
            flags: ["database.url": "postgres:///app"]
        )
        var apns = try #require(configuration.apps.values.first?.apns)
        if usesCertificate {
            apns.certificateFile = ready.certificateFile
        }
        for probe in APNsProbe.all(of: "shop", apns, over: ProviderTransports(Configuration.Send())) {
            let item = try await onThread { probe.item(CredentialFiles(environment: [:])) }
            #expect(item.level == .ok, "\(item.text)")
            #expect(item.detail.contains(usesCertificate ? "takes certificate" : "takes key"))
        }
    }
}
