internal import FanfareCore
import Foundation

/// The JSON of an APNs error body, and of GOAWAY debug data: `{"reason": "…", "timestamp": 1789999000123}`.
///
/// Parsing never fails: an empty body, HTML of a gateway, or garbage yields a body without reason and timestamp.
public struct APNsErrorBody: Equatable, Sendable {
    /// The maximum size of a body that is parsed; real bodies have less than 100 bytes.
    public static let maximumBytes = 4096
    /// An unknown reason is cut to this many characters.
    public static let maximumReasonLength = 64

    /// The reason as APNs wrote it, without control characters, so that it can be logged.
    public let reason: String?
    /// The last time at which APNs found the token dead, in milliseconds since the Unix epoch.
    public let timestampMilliseconds: Int64?

    /// Creates an error body with the given content.
    ///
    /// - Parameters:
    ///   - reason: the reason.
    ///   - timestampMilliseconds: the last time at which the token was found dead.
    public init(reason: String? = nil, timestampMilliseconds: Int64? = nil) {
        self.reason = reason
        self.timestampMilliseconds = timestampMilliseconds
    }

    /// Parses a body.
    ///
    /// - Parameter bytes: the body or the debug data, complete or truncated.
    public init(parsing bytes: some Collection<UInt8>) {
        guard !bytes.isEmpty, bytes.count <= Self.maximumBytes else {
            self.init()
            return
        }
        if let canonical = APNsErrorBody(canonical: bytes) {
            self = canonical
            return
        }
        guard let fields = try? JSONDecoder().decode(Fields.self, from: Data(bytes)) else {
            self.init()
            return
        }
        self.init(
            reason: fields.reason?.loggable(upTo: Self.maximumReasonLength),
            timestampMilliseconds: fields.timestamp
        )
    }

    /// Decodes each field separately, so that a field of an unexpected type does not hide the other.
    private struct Fields: Decodable {
        let reason: String?
        let timestamp: Int64?

        private enum Key: String, CodingKey {
            case reason, timestamp
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            reason = try? container.decode(String.self, forKey: .reason)
            timestamp =
                (try? container.decode(Int64.self, forKey: .timestamp))
                ?? (try? container.decode(Double.self, forKey: .timestamp)).flatMap { Int64(exactly: $0.rounded()) }
        }
    }
}
