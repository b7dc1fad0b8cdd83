import Foundation
import PostgresClient
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Each row of `fanfare.health` has a heading of its name in the article on operation.
@Suite struct HealthArticleTests {
    /// Returns the headings that are names, without `<…>`: `daemons`, `role: maintenance`, `watch: `.
    private func headings() throws -> Set<String> {
        let headings = try Documentation.text("Operation").matches(of: /\n### `([^`<]+)[^`]*`\n/).map { String($0.1) }
        #expect(Set(headings).count == headings.count, "each name has one")
        return Set(headings)
    }

    /// Returns the names in the view's source, up to their variable part.
    private func names() throws -> [String] {
        let view = try #require(Schema.sql.components(separatedBy: "fanfare.create_view('health'").last)
        let query = view.components(separatedBy: "$view$")[1]
        return query.components(separatedBy: "\nUNION ALL\n").map { part in
            if let name = part.firstMatch(of: /SELECT '([a-z_]+(?:: )?)'/) { return String(name.1) }
            return part.contains("FROM fanfare.watches_to_make_again()") ? "watch: " : "unknown: \(part)"
        }
    }

    @Test func everyNameHasAHeading() throws {
        let headings = try headings()
        let names = try names()
        #expect(names.count == 20)
        for name in names {
            #expect(headings.contains { $0 == name || (name.hasSuffix(": ") && $0.hasPrefix(name)) }, "\(name)")
        }
        for heading in headings {
            #expect(names.contains { $0 == heading || ($0.hasSuffix(": ") && heading.hasPrefix($0)) }, "\(heading)")
        }
    }

    @Test func soHasEveryCheckOfTheAuditAndEveryRole() throws {
        let headings = try headings()
        for check in AuditCheck.allCases { #expect(headings.contains("audit: \(check.rawValue)")) }
        #expect(headings.count { $0.hasPrefix("audit: ") } == AuditCheck.allCases.count)
        for role in LeaderRole.allCases { #expect(headings.contains("role: \(role.rawValue)")) }
        #expect(headings.count { $0.hasPrefix("role: ") } == 2)
    }
}
