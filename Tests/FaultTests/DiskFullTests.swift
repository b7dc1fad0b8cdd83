import PostgresClient
import PrivateCluster
import TestKit
import Testing

/// Tests of a full disk.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct DiskFullTests {
    @Test func whatWaitsGoesOnWhenThereIsRoomAgain() async throws {
        guard SmallDisk.isPossible else {
            report("fault: disk full: NOT played, only root mounts a small file system")
            return
        }
        let cluster = try await onThread("cluster") { try PrivateCluster.start(options: Rig.clusterOptions) }
        let disk: SmallDisk
        do {
            disk = try await SmallDisk(megabytes: 96, for: cluster)
        } catch {
            cluster.stop(.immediate)
            // Some containers do not even allow root to mount.
            report("fault: disk full: NOT played, \(error)")
            return
        }
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await play(on: disk, Rig.start(cluster: cluster, tablespace: SmallDisk.tablespace)))
        } catch {
            outcome = .failure(error)
        }
        cluster.stop(.immediate)
        try await disk.remove()
        try outcome.get()
    }

    private func play(on disk: SmallDisk, _ rig: Rig) async throws {
        let outcome: Result<Void, any Error>
        do {
            var refused = false
            let (audit, first) = try await rig.under("disk full", devices: 200) { _ in
                try disk.fill()
                refused = try await rig.sql { connection in
                    (try? connection.execute(
                        "CREATE TABLE large TABLESPACE small AS SELECT repeat('x', 900) FROM generate_series(1, 1000)"
                    )) == nil
                }
                try await rig.hold(seconds: Soak.choose(4, soak: 30))
                try disk.clear()
                return monotonicNanoseconds()
            }
            #expect(refused, "the disk is full")
            #expect(audit.duplicates <= 3 * Rig.unrecorded)
            #expect(first.map { $0 <= 10_000 } == true)
            try await rig.searchLogsForSecrets()
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await rig.stop()
        try outcome.get()
    }
}
