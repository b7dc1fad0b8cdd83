import Foundation
import Programs
import TestKit
import Testing

@testable import DaemonKit

/// The flags of `fanfare sandbox`, and its message about a configuration that it did not write.
@Suite struct SandboxCommandTests {
    @Test func theAppIsCalledAsItIsTold() async throws {
        let sandbox = try await SandboxProcess.start(arguments: ["--app", "shop", "--sink"])
        let configuration = try String(contentsOfFile: sandbox.ready.configFile, encoding: .utf8)
        await sandbox.stop()
        #expect(configuration.contains("\n  \"shop\":\n"))
    }

    @Test(arguments: [
        ("--port", "TLS port"), ("--sandbox-port", "sandbox TLS port"), ("--control-port", "control port"),
    ])
    func eachPortHasAFlag(flag: String, name: String) async throws {
        let run = try await fanfare("sandbox", "--dir", NSTemporaryDirectory() + "fanfare-none", flag, "70000")
        #expect(run.status == 64)
        #expect(run.errors.first == "fanfare: \(name): must be from 0 to 65535, 0 for a free one", "\(run.errors)")
    }

    @Test func aKeptConfigurationWithOtherPortsIsToldOf() async throws {
        try await withNewFolder { folder in
            let own = "apps: { shop: { fcm: { endpoint: https://localhost:1 } } }\n"
            try own.write(toFile: folder + "/fanfare.yaml", atomically: true, encoding: .utf8)
            let sandbox = try await SandboxProcess.start(directory: folder, arguments: ["--sink"])
            await sandbox.stop()
            var errors: [String] = []
            for await line in sandbox.process.errors { errors.append(line) }
            #expect(errors.first?.hasPrefix("warning: \(sandbox.ready.configFile) is your own and was kept") == true)
            #expect(errors.first?.contains("https://localhost:\(sandbox.ready.tlsPort)") == true)
            #expect(try String(contentsOfFile: sandbox.ready.configFile, encoding: .utf8) == own)
        }
    }
}
