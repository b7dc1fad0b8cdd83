import FanfareCore
import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The behavior that all providers share, through the real senders, with the provider as parameter.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct ConformanceTests {
    private static let lost = ["retrying/answer_lost", "accepted/accepted"]

    @Test(arguments: ProviderUnderTest.allCases)
    func whatIsInOrderIsAcceptedOnce(provider: ProviderUnderTest) async throws {
        try await Flow.run { flow in
            let fine = ConformanceCase(provider, "fine-\(provider.rawValue)", does: "", ["accepted/accepted"])
            try await flow.conform(to: [fine])
            #expect(try await flow.received(fine.name, of: provider).count == 1)
        }
    }

    @Test(arguments: ConformanceTable.all)
    func eachReasonIsTakenAtItsWord(table: ConformanceTable) async throws {
        try await Flow.run { flow in try await flow.conform(to: table.independent) }
    }

    /// FCM's answers mean the same for a FID as for a token, except that it does not know the FID of a new registration.
    @Test(arguments: [("1 hour", "gone/UNREGISTERED"), ("1 minute", "rejected/UNREGISTERED_new")])
    func eachReasonIsTakenAtItsWordForFIDs(age: String, unknown: String) async throws {
        let cases = ConformanceTable.fcm.independent.map { item in
            item.name == "UNREGISTERED" ? ConformanceCase(.fcm, item.name, nil, unknown) : item
        }
        try await Flow.run { flow in
            let change = """
                UPDATE fanfare.devices SET address = 'fid', registered_at = clock_timestamp() - interval '\(age)'
                """
            try await flow.conform(to: cases, change: change)
            let pushes = try await flow.sandbox.received().filter { $0.provider == "fcm" }
            #expect(pushes.contains { $0.body?.contains(#""fid":"UNREGISTERED-android-phone""#) == true })
        }
    }

    @Test(arguments: ConformanceTable.all.flatMap(\.stopping))
    func aRefusedCredentialCostsNoDeviceAndNoPush(refused: ConformanceCase) async throws {
        let refusal = try #require(refused.refusal)
        let log = try await Flow.run { flow in
            try await flow.conform(to: [refused])
            try await flow.until(
                """
                SELECT EXISTS (SELECT FROM fanfare.health
                    WHERE name ~ '^refused: shop/\(refused.provider.rawValue)/' AND NOT ok AND starts_with(detail, '\(refusal): '))
                """
            )
        }
        #expect(log.contains { $0.contains("refuses this") })
    }

    @Test(arguments: ConformanceTable.all.flatMap(\.holding))
    func aUsedUpQuotaHoldsTheSenderAndNobodyElse(used: ConformanceCase) async throws {
        let log = try await Flow.run { flow in
            try await flow.conform(to: [used])
            try await used.provider.register("next", in: flow)
            try await ProviderUnderTest.apns.register("other", in: flow)
            _ = try await flow.sql { try $0.emit("conformance", #"{"users": ["next"]}"#) }
            _ = try await flow.sql { try $0.emit("conformance", #"{"users": ["other"]}"#) }
            try await flow.until(
                "SELECT EXISTS (SELECT FROM fanfare.deliveries WHERE user_id = 'other' AND outcome = 'accepted')"
            )
            let next = try await flow.received("next", of: used.provider)
            #expect(next.isEmpty, "asked although the provider said to wait")
        }
        #expect(log.contains { $0.contains("the provider asks this sender to wait") })
    }

    /// An answer about one subscription does not affect others.
    @Test(arguments: [
        ConformanceCase(
            .webpush,
            "busy",
            #""reason": "TooManyRequests", "retry_after": 120"#,
            "retrying/device_throttled",
            "pending/not_attempted"
        ),
        ConformanceCase(
            .webpush,
            "stuck",
            #""status": 503, "retry_after": 120"#,
            "retrying/unavailable",
            "pending/not_attempted"
        ),
    ])
    func aSubscriptionThatHasToWaitStopsNoOther(throttled: ConformanceCase) async throws {
        let log = try await Flow.run { flow in
            try await flow.conform(to: [throttled])
            try await throttled.provider.register("next", in: flow)
            _ = try await flow.sql { try $0.emit("conformance", #"{"users": ["next"]}"#) }
            try await flow.until(
                "SELECT EXISTS (SELECT FROM fanfare.deliveries WHERE user_id = 'next' AND outcome = 'accepted')"
            )
        }
        #expect(!log.contains { $0.contains("asks this sender to wait") || $0.contains("a provider fails") })
    }

    @Test(arguments: ConformanceTable.all)
    func retryAfterIsALeastWait(table: ConformanceTable) async throws {
        let outcomes = ["retrying/\(table.throttled.word)", "pending/not_attempted"]
        let date = Self.httpDate(in: 600)
        let waits = [("seconds", "300", 300), ("date", #""\#(date)""#, 600)]
        for (name, value, seconds) in waits {
            // Each case has its own daemon: a sender that was told to wait sends nothing else.
            try await Flow.run { flow in
                let fault = #""do": "status", "reason": "\#(table.throttled.reason)", "retry_after": \#(value)"#
                try await flow.conform(to: [ConformanceCase(table.provider, name, does: fault, outcomes)])
                let wait = try await flow.sql { world in
                    try world.connection.number(
                        """
                        SELECT extract(epoch FROM b.not_before - now())::int FROM fanfare.batches AS b
                        JOIN fanfare.devices AS d ON d.id = ANY (b.device_ids) WHERE d.user_id = $1
                        """,
                        name
                    )
                }
                #expect((Int64(seconds) - 30...Int64(seconds) * 11 / 10 + 1).contains(wait), "\(name): \(wait) s")
            }
        }
    }

    @Test(arguments: ConformanceTable.all.filter { $0.expired != nil })
    func anExpiredCredentialIsRenewedAndNoPushLost(table: ConformanceTable) async throws {
        let expired = try #require(table.expired)
        try await Flow.run { flow in
            try await flow.conform(to: [
                ConformanceCase(
                    table.provider,
                    "expired",
                    "\(expired), \"times\": 1",
                    "accepted/accepted"
                )
            ])
        }
    }

    @Test(arguments: ProviderUnderTest.allCases, [#""at": "headers""#, #""at": "body""#])
    func aConnectionLostIsAskedOnceMore(provider: ProviderUnderTest, place: String) async throws {
        try await Flow.run { flow in
            let fault = #""do": "close", \#(place), "times": 1"#
            try await flow.conform(to: [ConformanceCase(provider, "lost", does: fault, Self.lost)])
        }
    }

    @Test(arguments: ProviderUnderTest.allCases)
    func anUnheardOfAnswerGoesByItsStatus(provider: ProviderUnderTest) async throws {
        let page = #""body": "<!DOCTYPE html><title>Error</title>""#
        // Where each of the provider's errors has its own body, an HTML page comes from another server.
        let page4xx =
            [.apns, .fcm].contains(provider)
            ? ConformanceCase(
                provider,
                "page4xx",
                #""status": 418, \#(page), "times": 1"#,
                "retrying/foreign_answer",
                "accepted/accepted"
            ) : ConformanceCase(provider, "page4xx", #""status": 418, \#(page)"#, "rejected/status_4xx")
        let log = try await Flow.run { flow in
            try await flow.conform(to: [
                ConformanceCase(provider, "teapot", #""status": 418, "reason": "Teapot""#, "rejected/status_4xx"),
                page4xx,
                ConformanceCase(
                    provider,
                    "page502",
                    #""status": 502, \#(page), "times": 1"#,
                    "retrying/status_502",
                    "accepted/accepted"
                ),
                ConformanceCase(
                    provider,
                    "odd5xx",
                    #""status": 599, "body": "", "times": 1"#,
                    "retrying/status_5xx",
                    "accepted/accepted"
                ),
            ])
        }
        #expect(log.contains { $0.contains("unrecognized provider response") })
    }

    @Test(arguments: ConformanceTable.all)
    func whatIsTooLargeIsNotSentAndKeepsTheDevice(table: ConformanceTable) async throws {
        let text = String(repeating: "x", count: table.tooMuch)
        try await Flow.run { flow in
            let large = ConformanceCase(table.provider, "large", does: "", ["refused/not_renderable"])
            let title = "{{#users}}\(text){{/users}}"
            try await flow.conform(to: [large], message: #""message": {"notification": {"title": "\#(title)"}}"#)
            #expect(try await flow.received(large.name, of: table.provider).isEmpty)
        }
    }

    /// IMF-fixdate (RFC 9110 section 5.6.7).
    private static func httpDate(in seconds: TimeInterval) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.string(from: Date(timeIntervalSinceNow: seconds))
    }
}

/// A provider that accepts requests and does not answer; three run at once, since each takes a request's full deadline.
@Suite(.flowSandbox, .database, .timeLimit(.minutes(5)))
struct SilenceTests {
    @Test func silenceEndsWithTheDeadlineAndNoPushIsLost() async throws {
        try await Flow.run { flow in
            let cases = ProviderUnderTest.allCases.map { provider in
                ConformanceCase(
                    provider,
                    "silent-\(provider.rawValue)",
                    does: #""do": "silence", "times": 1"#,
                    ["retrying/answer_lost", "accepted/accepted"]
                )
            }
            try await flow.conform(to: cases)
        }
    }
}

extension Flow {
    /// Returns the requests that a case's device received.
    fileprivate func received(_ name: String, of provider: ProviderUnderTest) async throws -> [ReceivedPush] {
        let device = try await provider.device(name, in: self)
        return try await sandbox.received().filter { $0.provider == provider.rawValue && $0.target == device.target }
    }
}
