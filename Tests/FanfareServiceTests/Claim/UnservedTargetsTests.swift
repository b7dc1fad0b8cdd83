import Testing

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

@Suite struct UnservedTargetsTests {
    private let targets = [
        Target(id: 1, app: "shop", provider: "apns", environment: "production"),
        Target(id: 2, app: "shop", provider: "apns", environment: "sandbox"),
        Target(id: 3, app: "shop", provider: "fcm", environment: "production"),
        Target(id: 4, app: "news", provider: "fcm", environment: "production"),
        Target(id: 5, app: "news", provider: "fcm", environment: "production", nativeKey: "fcm_topic"),
    ]

    /// Returns the reported targets if a daemon serves the given ones.
    private func told(_ unserved: inout UnservedTargets, serving ids: Set<Int16>) -> [String] {
        unserved.check(targets) { ids.contains($0.id) }.map { "\($0.app)/\($0.provider)" }
    }

    @Test func eachAppAndProviderIsToldOnceUntilItIsServed() {
        var unserved = UnservedTargets()
        #expect(told(&unserved, serving: [3]) == ["news/fcm", "shop/apns"])
        #expect(told(&unserved, serving: [3]).isEmpty)
        #expect(told(&unserved, serving: [4, 5]) == ["shop/fcm"])
        #expect(told(&unserved, serving: [3]) == ["news/fcm"], "its credentials went")
        #expect(told(&unserved, serving: [1, 2, 3, 4, 5]).isEmpty)
    }
}
