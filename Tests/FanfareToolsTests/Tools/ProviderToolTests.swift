import FanfareCore
import PostgresClient
import PushTransport
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareExplain
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools
@testable import fanfare

/// The commands that manage objects at providers, against the simulated services.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct ProviderToolTests {
    private let flow: Flow
    private let configuration: Configuration

    init() throws {
        flow = try Flow.idle()
        configuration = try flow.configuration()
    }

    // MARK: Channels

    @Test(arguments: [false, true]) func aChannelIsMadeListedAndDeleted(usesCertificate: Bool) async throws {
        var configuration = configuration
        if usesCertificate {
            configuration.apps["shop"]?.apns?.certificateFile = flow.sandbox.ready.certificateFile
        }
        try await onThread { [configuration] in
            let manager = try ChannelManager(configuration, app: "shop", isSandbox: false, environment: [:])
            let elsewhere = try ChannelManager(configuration, app: "shop", isSandbox: true, environment: [:])
            let before = try Set(manager.list())
            let made = [try manager.create(.nothing), try manager.create(.newest)]
            #expect(try Set(manager.list()) == before.union(made))
            #expect(try !elsewhere.list().contains(made[0]), "each environment has its own")
            try manager.delete(made[0])
            #expect(try Set(manager.list()) == before.union([made[1]]))
            let error = #expect(throws: ToolError.self) { try manager.delete(made[0]) }
            #expect(error?.reason == "APNs says 400 ChannelNotRegistered")
            #expect(error?.hint == "`fanfare channels list` shows those there are.")
        }
    }

    // MARK: A proxy

    /// Management, tokens and pushes, with any configured transport.
    @Test func everythingGoesThroughTheProxy() async throws {
        try await withProxy { proxy in
            var configuration = configuration
            configuration.send.proxy = try HTTPProxy(proxy.address)
            try await onThread { [configuration] in
                _ = try ChannelManager(configuration, app: "shop", isSandbox: false, environment: [:]).list()
                #expect(proxy.heads.count == 1)
                let change = try TopicChange(.subscribe, topic: "news", of: FCMDeviceFilter(app: "shop"))
                let files = CredentialFiles(environment: [:])
                let topics = try TopicSender(change, configuration, files: files, stop: TopicStop())
                var step = TopicStep(count: 1, pace: FCMTopicPace())
                _ = try topics.run(&step, ["behind-a-proxy"]) { _, _ in }
                topics.close()
                #expect(step.tally().done == 1)
                #expect(proxy.heads.count == 3, "an access token, and the topic")
                let app = try #require(configuration.apps["shop"])
                let transports = ProviderTransports(configuration.send)
                let fcm = FCMProbe(app: "shop", credentials: try #require(app.fcm), transports: transports)
                #expect(fcm.item(files).level == .ok)
                #expect(proxy.heads.count == 5)
                for probe in APNsProbe.all(of: "shop", try #require(app.apns), over: transports) {
                    #expect(probe.item(files).level == .ok)
                }
                #expect(proxy.heads.count == 7)
            }
            #expect(proxy.heads.allSatisfy { $0.hasPrefix("CONNECT localhost:") && !$0.contains("uthorization: ") })
        }
    }

    @Test func anAppWithoutCredentialsIsNamed() throws {
        let channels = #expect(throws: ToolError.self) {
            try ChannelManager(configuration, app: "other", isSandbox: false, environment: [:])
        }
        #expect(channels?.reason == "app other has no apns credentials" && channels?.kind == .configuration)
        let change = try TopicChange(.subscribe, topic: "news", of: FCMDeviceFilter(app: "other"))
        let topics = #expect(throws: ToolError.self) {
            _ = try TopicSender(
                change,
                configuration,
                files: CredentialFiles(environment: [:]),
                stop: TopicStop()
            )
        }
        #expect(topics?.reason == "app other has no fcm credentials")
    }

    // MARK: Validation

    private func explain(_ message: JSONValue) throws -> RuleExplanation {
        let rule: JSONValue = [
            "name": "r", "app": "shop", "event": "e", "to": ["everyone": true, "provider": "fcm"], "message": message,
        ]
        let rules = RuleSet(try CompiledRule(json: rule))
        return try #require(rules.explain(ExampleEvent(payload: "{}")) { _ in nil }.first)
    }

    @Test func fcmIsAskedAndDeliversNothing() async throws {
        let explanation = try explain(["notification": ["title": "T"], "android": ["priority": "HIGH"]])
        let before = try await flow.sandbox.awaitCounts().received
        let validation = try await onThread { [configuration] in
            (
                try explanation.validate(configuration, environment: [:]),
                try explanation.validate(configuration, token: "real-token", environment: [:])
            )
        }
        #expect(validation.0?.isTaken == true, "\(validation.0?.detail ?? "")")
        #expect(validation.1?.detail == "FCM accepts it")
        let asked = try await flow.sandbox.received(after: before).filter { $0.provider == "fcm" }
        #expect(asked.count == 2)
        #expect(try asked.allSatisfy { try $0.json("validate_only") == true })
    }

    @Test func fcmsComplaintIsToldInItsWords() async throws {
        let explanation = try explain(["notification": ["title": "T"], "android": ["restricted_package_name": "other"]])
        let validation = try await onThread { [configuration] in
            try explanation.validate(configuration, token: "real-token", environment: [:])
        }
        #expect(validation?.isTaken == false)
        #expect(validation?.detail.hasPrefix("FCM says 400 INVALID_ARGUMENT: ") ?? false, "\(validation?.detail ?? "")")
    }

    // MARK: Expiry

    @Test func credentialsSayWhenTheyEnd() throws {
        var configuration = configuration
        configuration.apps["shop"]?.apns?.certificateFile = flow.sandbox.ready.certificateFile
        configuration.apps["shop"]?.webPush?.vapidKeyFile = "/nowhere/vapid.pem"
        let now = Clocks.wall / Micros.second
        let all = configuration.credentialExpiries(environment: [:], now: now)
        #expect(all.map(\.credential) == ["APNs certificate", "FCM service account", "VAPID key"])
        #expect(all[0].endsAt ?? 0 > now && all[0].problem == nil)
        #expect(all[1].endsAt == nil && all[1].problem == nil)
        #expect(all[2].problem?.contains("apps.shop.webpush.vapid_key_file") ?? false)
        let text = CredentialExpiry.text(all, now: now)
        #expect(text.contains("does not expire"))
        let late = configuration.credentialExpiries(environment: [:], now: now + 400 * 365 * 86_400)
        #expect(late[0].problem?.contains("expired") ?? false)
    }

    /// The API's certificate expires too, and without this row clients would be the first to notice.
    @Test func theCertificateOfTheAPISaysWhenItEnds() async throws {
        var configuration = configuration
        configuration.apps = [:]
        // The sandbox keeps a certificate and its key in one file.
        configuration.api.certificateFile = flow.sandbox.ready.certificateFile
        configuration.api.keyFile = flow.sandbox.ready.certificateFile
        let now = Clocks.wall / Micros.second
        let all = configuration.credentialExpiries(environment: [:], now: now)
        #expect(all.map(\.credential) == ["API certificate"] && all[0].app == nil)
        #expect(all[0].endsAt ?? 0 > now && all[0].problem == nil)
        #expect(
            configuration.credentialExpiries(environment: [:], now: now + 400 * 365 * 86_400)[0].problem?.contains(
                "expired"
            ) == true
        )
        let item = try await #require(
            Checkup(configuration, environment: [:]).items(online: false).first { $0.name == "API certificate" }
        )
        #expect(item.level == .ok && item.detail.contains("is valid until"))
        configuration.api.keyFile = flow.sandbox.ready.vapidKeyFile
        let other = try await #require(
            Checkup(configuration, environment: [:]).items(online: false).first { $0.name == "API certificate" }
        )
        #expect(other.level == .fail && other.detail.hasPrefix("api.certificate_file: "))
    }
}
