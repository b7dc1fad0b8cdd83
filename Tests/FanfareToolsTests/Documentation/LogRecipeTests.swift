import Foundation
import Logging
import PrivateCluster
import Programs
import Testing

@testable import DaemonKit
@testable import FanfareLogging

/// The recipes of the article on the log work as printed.
struct LogRecipeTests {
    /// An example log of a daemon.
    private static let log: String = [
        line(
            .info,
            "push accepted",
            [
                .outcome: "accepted", .reason: "accepted", .eventID: "10827612", .userHash: "49915e0d",
                .lagMilliseconds: "12",
            ]
        ),
        line(
            .info,
            "push accepted",
            [.outcome: "accepted", .reason: "accepted", .eventID: "7", .lagMilliseconds: "40"]
        ),
        line(
            .info,
            "push not accepted",
            [
                .outcome: "gone", .reason: "Unregistered", .eventID: "7", .tokenHash: "3f08aace", .provider: "apns",
                .traceID: "0af7651916cd43dd8448eb211c80319c",
            ]
        ),
        line(
            .warning,
            "unrecognized provider response; classified by HTTP status",
            [.reason: "status_4xx", .error: "Odd"]
        ),
        line(.info, "nothing is sent of an event", [.eventID: "8", .eventType: "flash.ofer", .eventFate: "unmatched"]),
        line(.notice, "drained; pushes in flight are recorded", [.durationMilliseconds: "3"]),
    ].joined()

    private static func line(
        _ level: Logger.Level,
        _ message: String,
        _ metadata: KeyValuePairs<LogKey, Logger.MetadataValue>
    ) -> String {
        var metadata = Logger.Metadata(metadata)
        if metadata[.outcome] != nil { metadata[.app] = "shop" }
        let time = LogTimestamp(microsecondsSince1970: 1_790_000_000_000_000)
        return LogLine(time: time, level: level, message: message, metadata: metadata).json
    }

    /// The output of each recipe, with repeated blanks removed.
    private static let expected: [[String]] = [
        ["2 accepted", "1 gone"], ["1 apns gone Unregistered"], ["push accepted"], ["push accepted"],
        ["push not accepted"],
        ["push not accepted"], ["1 flash.ofer unmatched"], ["1 2026-09-21T14:13"], ["shop 40"],
        ["1 unrecognized provider response; classified by HTTP status Odd -"],
    ]

    @Test func theyPrintWhatTheySay() async throws {
        let article = try Documentation.text("Log")
        let section = try #require(article.components(separatedBy: "<!-- Recipes; a test runs them. -->").last)
        let recipes = section.components(separatedBy: "<!-- Recipes end. -->")[0].matches(of: /```sh\n(.+)\n```/).map {
            String($0.1)
        }
        try #require(recipes.count == Self.expected.count)
        let folder = FileManager.default.temporaryDirectory.appending(path: "recipes-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(Self.log.utf8).write(to: folder.appending(path: "fanfare.log"))
        for (recipe, expected) in zip(recipes, Self.expected) {
            let command = try await Command.run(
                ["sh", "-c", recipe],
                environment: ["TOKEN": "token-1"],
                directory: folder.path
            )
            #expect(command.status == 0, "\(recipe)")
            let lines = command.output.split(separator: "\n").map { line in
                // A whole line of the log is represented by its message.
                line.firstMatch(of: /"msg":"([^"]+)"/).map { String($0.1) }
                    ?? line.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
            }
            #expect(lines == expected, "\(recipe)")
        }
    }
}
