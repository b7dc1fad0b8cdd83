import Foundation
import Programs
import TestKit
import Testing

/// Tests of the restrictions in systemd's unit file.
@Suite struct UnitHardeningTests {
    private static let unit = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("systemd/fanfare.service").path

    @Test func theUnitIsHardened() async throws {
        let analyze = "/usr/bin/systemd-analyze"
        guard FileManager.default.isExecutableFile(atPath: analyze) else {
            report("hardening: no \(analyze) here, the unit's exposure was NOT looked at")
            return
        }
        let process = try await ProgramProcess(analyze, ["security", "--offline=true", Self.unit])
        var exposure: Double?
        for await line in process.output {
            let match = line.firstMatch(of: /Overall exposure level for fanfare.service: ([0-9.]+)/)
            if let match { exposure = Double(match.1) }
        }
        let level = try #require(exposure, "systemd-analyze tells a level")
        report("hardening: exposure \(level) of 10")
        #expect(level <= 1.5)
    }

    /// The permissions that the service needs.
    @Test func theUnitStillLetsItWork() throws {
        let text = try String(contentsOfFile: Self.unit, encoding: .utf8)
        for line in [
            "Type=notify", "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6", "LimitCORE=0",
        ] {
            #expect(text.contains("\n" + line), "\(line)")
        }
        #expect(!text.contains("\nPrivateNetwork=yes"))
    }

    /// An installation needs only the keys of its own providers.
    ///
    /// systemd rejects a default without a value.
    @Test(arguments: ["apns.p8", "service-account.json", "vapid.pem"])
    func aKeyThatIsMissingDoesNotKeepItFromStarting(name: String) throws {
        let text = try String(contentsOfFile: Self.unit, encoding: .utf8)
        #expect(
            text.contains("\nLoadCredential=\(name):/etc/fanfare/credentials/\(name)\nSetCredential=\(name):none\n")
        )
    }
}
