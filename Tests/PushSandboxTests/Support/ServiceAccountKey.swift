import CryptoExtras
import Foundation

/// One RSA key for all sandboxes of a test run: making one takes longer than most tests.
enum ServiceAccountKey {
    private static let pem = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048).pkcs8PEMRepresentation }

    static func put(into folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try pem.get().write(toFile: folder + "/service-account-key.pem", atomically: true, encoding: .utf8)
    }
}
