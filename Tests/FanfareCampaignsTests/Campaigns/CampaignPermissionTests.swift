import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareService
@testable import FanfareStages

/// Campaigns that filter on what devices' users allow.
@Suite(.database)
struct CampaignPermissionTests {
    @Test(arguments: [true, false])
    func onlyDevicesThatPassAreReached(isQuery: Bool) throws {
        let world = try World()
        let shown = try world.device("a1", user: "ann", "permission => 'authorized', presents => '{alert}'")
        try world.device("a2", user: "ann", "permission => 'denied'")
        try world.device("a3", user: "ann")
        let filter = #""permission": ["authorized", "provisional"], "presents": "alert""#
        if isQuery {
            let members = #""audience_sql": "SELECT 'ann'", "to": {\#(filter)}"#
            let campaign = #"{"app": "shop", "name": "c", "message": {"notification": {"title": "T"}}, \#(members)}"#
            _ = try world.connection.query("SELECT fanfare.put_campaign($1::jsonb)", campaign)
        } else {
            try world.put(campaign: "c", #""to": {"everyone": true, \#(filter)}"#)
        }
        try world.schedule()
        try world.start("c")
        if isQuery { try world.read() }
        try world.plan()
        let event = try world.connection.number("SELECT event_id FROM fanfare.runs")
        #expect(try world.recipients(event) == [shown])
    }
}
