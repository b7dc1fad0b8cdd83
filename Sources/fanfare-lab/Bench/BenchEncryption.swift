import ArgumentParser
import FanfareService
import Foundation
import Programs
import PushCrypto
import Threading

/// `fanfare bench encryption`: measures what a Web Push message costs before it is sent.
struct BenchEncryption: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "encryption",
        abstract: "Measure Web Push encryption on one thread, against OpenSSL's own ECDH on the same curve.",
        discussion: """
            Each message takes a new key pair and an ECDH on P-256, the two costly steps (RFC 8291); `openssl speed ecdhp256` \
            tells what one ECDH costs at best on this machine. Both take turns in each run.
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: "Messages in each run.")
    var messages = 10_000

    @Option(help: "Bytes of each message.")
    var bytes = 400

    func validate() throws {
        guard messages > 0, (0...WebPushEncryptor.plaintextLimit).contains(bytes) else {
            throw ValidationError("--messages must be at least 1, --bytes at most \(WebPushEncryptor.plaintextLimit)")
        }
    }

    func run() async throws {
        let report = try await blocking { [self] in try measure() }
        try options.show(report)
    }

    private func measure() throws -> BenchReport {
        var encryption: [Double] = []
        var exchange: [Double] = []
        for run in 1...options.runs {
            note("run \(run) of \(options.runs): \(messages) messages of \(bytes) bytes")
            exchange.append(try Self.openSSLExchange())
            encryption.append(try encrypt())
        }
        var report = BenchReport(
            setting: [
                "messages": "\(messages)", "bytes": "\(bytes)", "runs": "\(options.runs)", "threads": "1",
                "version": Program.version,
            ]
        )
        report.add("encryption.cpu", "Web Push encryption, CPU per message", "µs", encryption)
        report.add("encryption.rate", "Web Push encryption on one core, messages", "/s", encryption.map { 1e6 / $0 })
        report.add("exchange.cpu", "openssl speed ecdhp256, CPU per ECDH", "µs", exchange)
        report.add("ratio", "encryption over one ECDH of OpenSSL", "×", zip(encryption, exchange).map { $0 / $1 })
        return report
    }

    /// Encrypts all messages for a hundred browsers in turn.
    ///
    /// - Returns: the CPU time per message in µs.
    private func encrypt() throws -> Double {
        let encryptor = try WebPushEncryptor()
        let browsers = try (0..<100).map { _ in
            // Any point on the curve is a valid public key; a VAPID key's public part is one.
            try SubscriptionKeys(p256dh: VAPIDKey.generate().publicKey, auth: "BTBZMqHH6r4Tts7J_aSIgg")
        }
        let message = [UInt8](repeating: UInt8(ascii: "x"), count: bytes)
        for browser in browsers { _ = try encryptor.encrypt(message, for: browser) }
        let begin = Double(KernelClock.threadCPU.microseconds)
        var size = 0
        for number in 0..<messages {
            size += try encryptor.encrypt(message, for: browsers[number % browsers.count]).count
        }
        let spent = Double(KernelClock.threadCPU.microseconds) - begin
        guard size == messages * (bytes + 103) else { throw BenchError("messages have not the size they should have") }
        return spent / Double(messages)
    }

    /// Runs `openssl speed`, which measures CPU time too.
    ///
    /// - Returns: the time per exchange in µs.
    private static func openSSLExchange() throws -> Double {
        let text = try Command.wait(for: ["openssl", "speed", "-mr", "-seconds", "3", "ecdhp256"]).output
        // The last field of "+F5:index:bits:operations per second:seconds per operation" is rounded.
        let line = text.split(separator: "\n").first { $0.hasPrefix("+F5:") }
        guard let rate = line?.split(separator: ":").dropFirst(3).first.flatMap({ Double($0) }), rate > 0 else {
            throw BenchError("`openssl speed -mr ecdhp256` gave no figure; is openssl 3 installed?")
        }
        return 1e6 / rate
    }
}
