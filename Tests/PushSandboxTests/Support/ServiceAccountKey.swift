import Foundation
import SandboxCrypto

/// One RSA key for all sandboxes of a test run: generating one takes longer than most tests.
enum ServiceAccountKey {
    private static let pem = Result { try RSAKey().pem() }

    static func put(into folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try pem.get().write(toFile: folder + "/service-account-key.pem", atomically: true, encoding: .utf8)
    }
}
