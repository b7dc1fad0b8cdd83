import Logging
import TestKit

@testable import APIKit
@testable import FanfareSending
@testable import FanfareService

extension APIWorld {
    /// Checks pending rules and puts them into force, as a daemon does.
    func judge() async throws {
        try await onThread { [database = TestDatabase.current] in
            let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            try RuleChecker(logger: logger).check(on: database.connect())
        }
    }
}
