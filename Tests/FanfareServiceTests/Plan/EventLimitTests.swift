import FanfareRecords
import FanfareStore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The event types that an app's rules may use.
@Suite(.databaseWithRing)
struct EventLimitTests {
    private let world: World

    init() throws {
        world = try World()
        try world.device("aa", user: "u")
        for (name, type) in [("foreign", "bank.secret"), ("own", "shop.order")] {
            try world.rule(name, event: type, to: #"{"users": "$.u"}"#)
        }
    }

    private func limit(_ events: String...) throws -> Bool {
        try world.connection.run(SQL.limitEvents("shop", events)).first ?? false
    }

    private func fate(_ type: String) throws -> String? {
        let event = try world.emit(type, #"{"u": "u"}"#)
        try world.plan()
        return try world.fate(event)
    }

    @Test func aRuleBeyondThemIsNotInForce() throws {
        let health = "SELECT ok::text FROM fanfare.health WHERE name = 'rules'"
        let stored = {
            try world.connection.run(SQL.storedRules(["shop"])).map { "\($0.name) \($0.state) \($0.reason ?? "")" }
        }
        #expect(try fate("bank.secret") == "planned")
        #expect(try limit("shop.*", "order"))
        #expect(try !limit("shop.*", "order"), "it said so before")
        #expect(try [fate("bank.secret"), fate("shop.order")] == ["unmatched", "planned"])
        #expect(try world.connection.text(health) == "false")
        #expect(
            try stored() == ["foreign refused event: rules of shop may not take it (apps.shop.events)", "own active "]
        )
        #expect(try limit("*"))
        #expect(try fate("bank.secret") == "planned")
        #expect(try world.connection.text(health) == "true")
    }

    @Test func aRuleBeyondThemIsRefusedWhenItIsPut() throws {
        _ = try limit("shop.*", "order")
        let put = { (app: String, type: String) in
            world.connection.refusal(
                """
                SELECT fanfare.put_rule('{"app": "\(app)", "name": "n", "event": "\(type)", "to": {"users": "$.u"},
                    "message": {"notification": {"title": "T"}}}')
                """
            )
        }
        for type in ["bank.secret", "shop", "orders", "campaign.bank.sale", "digest.bank.r"] {
            let refusal = put("shop", type)
            #expect(refusal?.sqlState == "22023" && refusal?.message == "event: rules of shop may not take it")
            #expect(refusal?.hint == "apps.shop.events of the configuration allows shop.*, order")
        }
        for type in ["order", "shop.a.b"] { #expect(put("shop", type) == nil) }
        #expect(put("bank", "bank.secret") == nil)
    }

    @Test func campaignsAndDigestsAreTheAppsOwn() throws {
        _ = try limit()
        for type in ["campaign.shop.sale", "campaign-test.shop.sale", "digest.shop.r", "send.shop"] {
            #expect(try world.connection.text("SELECT fanfare.may_take('shop', $1)", type) == "t")
        }
    }

    /// An app may be configured before it exists in the database.
    @Test func anAppThatNobodyKnowsYetIsLimited() throws {
        #expect(try world.connection.run(SQL.limitEvents("later", ["a"])).first == true)
        #expect(try world.connection.run(SQL.limitEvents("no.app", ["a"])).first == false)
        #expect(try world.connection.text("SELECT fanfare.may_take('later', 'b')") == "f")
    }
}
