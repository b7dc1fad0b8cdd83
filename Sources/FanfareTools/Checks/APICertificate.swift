internal import FanfareConfiguration
internal import FanfareProviders
internal import Foundation
internal import PushCrypto
internal import Threading

/// The API's TLS certificate, as its files are now.
struct APICertificate {
    static let name = "API certificate"
    /// The remaining validity below which `check` warns, in seconds.
    private static let notice: Int64 = 14 * 86_400

    private let file: String
    private let keyFile: String
    private let environment: [String: String]

    /// - Returns: nil if the API answers without TLS.
    init?(_ settings: Configuration.API, environment: [String: String]) {
        guard let file = settings.certificateFile, let keyFile = settings.keyFile else { return nil }
        (self.file, self.keyFile, self.environment) = (file, keyFile, environment)
    }

    /// Reads the certificate and checks that it is valid now.
    ///
    /// - Returns: when it expires, in seconds since 1970.
    /// - Throws: ``ToolError`` if the files cannot be used or the certificate is not valid now.
    func end(at now: Int64) throws(ToolError) -> Int64 {
        let (chain, key): ([UInt8], [UInt8])
        do {
            let files = PasswordFile(environment: environment)
            chain = try files.bytes(at: file, for: "api.certificate_file", isSecret: { _ in false })
            key = try files.bytes(at: keyFile, for: "api.key_file")
        } catch {
            throw ToolError(error)
        }
        do throws(KeyError) {
            return try ServerCertificate(chain: chain, key: key, source: file, at: now).notAfter
        } catch {
            throw ToolError(
                .configuration,
                "api.certificate_file: \(error.source): \(error.reason.problem)",
                hint:
                    "Name a PEM file with the certificate and those between it and its CA, and in api.key_file one with its private key."
            )
        }
    }

    /// The item that `fanfare check` shows for the certificate.
    func item(at now: Int64) -> CheckItem {
        do throws(ToolError) {
            let end = try end(at: now)
            let detail = "\(file) is valid until \(Date(timeIntervalSince1970: TimeInterval(end)).ISO8601Format())"
            guard end - now < Self.notice else { return CheckItem(.ok, Self.name, detail) }
            let days = (end - now) / 86_400
            return CheckItem(
                .warn,
                Self.name,
                "\(detail): \(days == 1 ? "1 day" : "\(days) days") left",
                advice: "Replace both files; daemons read them within a second."
            )
        } catch {
            return CheckItem(.fail, Self.name, error.reason, advice: error.hint)
        }
    }
}
