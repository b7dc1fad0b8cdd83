import PrivateCluster
import TestKit
import Testing

@testable import PostgresClient

/// An old primary that accepts writes beside the new one.
@Suite(.serialized, .timeLimit(.minutes(5))) struct TimelineTests {
    @Test func theNewPrimaryIsUsedWhateverTheOrder() async throws {
        try await withStandby { old, new in
            let both = try FailedOver(from: old, to: new)
            for servers in [[both.old, both.new], [both.new, both.old]] {
                let timelines = PostgresTimelines()
                let url = FailedOver.url(of: servers)
                #expect(try Self.timeline(PostgresOptions(url: url)) == (servers[0].directory == old.directory ? 1 : 2))
                let options = PostgresOptions(url: url, timelines: timelines)
                for _ in 0..<6 { #expect(try Self.timeline(options) == 2) }
                let split = try #require(timelines.news())
                #expect(timelines.news() == nil && timelines.split == split)
                #expect(
                    split.description == "two servers take writes: \(Self.place(old)) is on timeline 1; "
                        + "\(Self.place(new)) is on timeline 2, and is used"
                )
                #expect(split.advice.contains("Stop the old primary (\(Self.place(old)))"))
            }
        }
    }

    @Test func noSessionGoesBackToTheOldPrimary() async throws {
        try await withStandby { old, new in
            let both = try FailedOver(from: old, to: new)
            let timelines = PostgresTimelines()
            let options = PostgresOptions(url: FailedOver.url(of: [old, new]), timelines: timelines)
            let one = PostgresOptions(url: both.old.connectionURL(), timelines: timelines)
            #expect(try Self.timeline(options) == 2)
            for _ in 0..<6 {
                new.suspend(.immediate)
                for refused in [options, one] {
                    let error = try #require(throws: PostgresError.self) { try PostgresConnection.open(refused) }
                    #expect(error.code == .wrongDatabase && !error.isTransient)
                    #expect(
                        error.message == "\(Self.place(old)) is on timeline 1, an old primary: sessions before were on "
                            + "timeline 2"
                    )
                }
                try new.resume()
                #expect(try Self.timeline(options) == 2)
            }
        }
    }

    @Test func aSessionWithTheOldPrimaryIsLostOnceAnotherHasFoundTheNewOne() async throws {
        try await withStandby { old, new in
            let options = PostgresOptions(url: FailedOver.url(of: [old, new]), timelines: PostgresTimelines())
            let session = try PostgresConnection.open(options)
            #expect(try session.text("SELECT 1") == "1")
            try FailedOver.promote(new)
            #expect(try session.text("SELECT 1") == "1", "nobody has looked yet")
            let another = PostgresOptions(url: new.connectionURL(), timelines: options.timelines)
            #expect(try Self.timeline(another) == 2)
            let error = #expect(throws: PostgresError.self) { try session.execute("SELECT 1") }
            #expect(error?.code == .connectionLost && session.isClosed)
            #expect(error?.message == "\(Self.place(old)) is on timeline 1, and another session is on a higher one")
            #expect(try Self.timeline(options) == 2)
        }
    }

    @Test func aConnectThatFailsHasAllServersLookedAtAgain() async throws {
        try await withStandby { old, new in
            let options = PostgresOptions(url: FailedOver.url(of: [old, new]), timelines: PostgresTimelines())
            #expect(try Self.timeline(options) == 1)
            old.suspend(.immediate)
            #expect(throws: PostgresError.self) { try PostgresConnection.open(options) }
            try FailedOver.promote(new)
            try old.resume()
            #expect(try Self.timeline(options) == 2)
        }
    }

    @Test func oneServerUnderTwoAddressesIsOne() async throws {
        let cluster = try await TestCluster.shared()
        let timelines = PostgresTimelines()
        let place = "\(cluster.directory)"
        let url = "host=\(place)/,\(place) port=\(cluster.port) user=postgres dbname=postgres"
        let session = try PostgresConnection.open(PostgresOptions(url: url, timelines: timelines))
        #expect(session.timeline?.number == 1 && timelines.split == nil)
    }

    @Test func aServerThatDoesNotTellItsTimelineIsUsedAsItIs() async throws {
        let cluster = try await onThread("cluster") { try PrivateCluster.start(options: .tests) }
        defer { cluster.stop(.immediate) }
        let administrator = try PostgresConnection.open(PostgresOptions(url: cluster.connectionURL()))
        try administrator.execute("CREATE ROLE plain LOGIN; REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
        let url = cluster.connectionURL().replacing("user=postgres", with: "user=plain")
        let timelines = PostgresTimelines()
        for _ in 0..<2 {
            let session = try PostgresConnection.open(PostgresOptions(url: url, timelines: timelines))
            #expect(session.timeline == nil && timelines.isRefused)
            #expect(try session.text("SHOW search_path") == "fanfare, pg_catalog, pg_temp")
        }
    }

    @Test(arguments: [
        ("a,b", "", "1,2", ["a::1", "b::2"]), ("a,b", "", "7", ["a::7", "b::7"]),
        ("a,b", "", "", ["a::5432", "b::5432"]),
        ("", "1.1.1.1,::1", "1,", [":1.1.1.1:1", ":::1:5432"]), ("a,b", "1.1.1.1,", "", ["a:1.1.1.1:5432", "b::5432"]),
        ("a", "", "1", ["a::1"]), ("", "", "", []),
    ])
    func theListsOfAURLArePutTogether(hosts: String, addresses: String, ports: String, servers: [String]) {
        let list = PostgresServer.list(hosts: hosts, addresses: addresses, ports: ports)
        #expect(list.map { "\($0.host):\($0.address):\($0.port)" } == servers)
    }

    private static func timeline(_ options: PostgresOptions) throws -> Int? {
        let session = try PostgresConnection.open(options)
        defer { session.close() }
        return try session.text("SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)").flatMap { Int($0) }
    }

    private static func place(_ server: PrivateCluster) -> String { "\(server.directory), port \(server.port)" }

    /// Runs a body with a server and its standby, on a separate thread.
    private func withStandby(
        _ body: @escaping @Sendable (_ primary: PrivateCluster, _ standby: PrivateCluster) throws -> Void
    ) async throws {
        try await onThread("clusters") {
            let primary = try PrivateCluster.start(options: .tests)
            defer { primary.stop(.immediate) }
            let standby = try primary.startStandby()
            defer { standby.stop(.immediate) }
            try body(primary, standby)
        }
    }
}
