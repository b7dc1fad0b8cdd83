import NIOCore

/// The checks of a request to APNs; each finds one kind of error.
enum APNsCheck: CaseIterable {
    case duplicateHeaders
    case messageID
    case method
    case topicPresent
    case collapseID
    case priority
    case pushType
    case expiration
    case path
    case deviceToken
    case credential
    case topicCovered
    case payload

    /// Returns the checks in order; Apple does not publish the order of the real service.
    static func inOrder(_ order: SandboxOptions.ValidationOrder) -> [APNsCheck] {
        switch order {
        case .pushy: allCases
        case .service:
            [
                .duplicateHeaders, .method, .path, .credential, .messageID, .topicPresent, .collapseID, .priority,
                .pushType, .expiration, .topicCovered, .deviceToken, .payload,
            ]
        }
    }
}

/// A parsed request.
struct APNsRequest {
    private static let pathPrefix = "/3/device/"

    let request: PushRequest
    let headers: APNsHeaders
    /// The part of the path after `/3/device/`; nil for any other path.
    let deviceToken: String?
    let type: APNsPushType?
    /// The topic of the header, or the only one of the client's certificate.
    let topic: String?

    init(_ request: PushRequest, defaultTopic: String?) {
        self.request = request
        headers = APNsHeaders(request.head.fields)
        deviceToken = Self.deviceToken(in: request.head.path)
        type = headers.pushType.flatMap(APNsPushType.init(rawValue:))
        topic = headers.topic ?? defaultTopic
    }

    /// Returns the part of the path after `/3/device/`, which may be empty; nil for any other path.
    static func deviceToken(in path: String) -> String? {
        guard path.hasPrefix(pathPrefix) else { return path == "/3/device" ? "" : nil }
        return String(path.dropFirst(pathPrefix.utf8.count))
    }

    /// Runs a check that needs only the request; the session runs the other two.
    func failure(of check: APNsCheck) -> APNsRejection? {
        switch check {
        case .duplicateHeaders: headers.hasDuplicates ? .duplicateHeaders : nil
        case .messageID: headers.id.map(CanonicalUUID.isValid) == false ? .badMessageID : nil
        case .method: request.head.method == "POST" ? nil : .methodNotAllowed
        case .topicPresent: topic?.isEmpty ?? true ? .missingTopic : nil
        case .collapseID: headers.collapseID.map { $0.utf8.count > 64 } == true ? .badCollapseID : nil
        case .priority: priorityFailure
        case .pushType: headers.pushType != nil && type == nil ? .invalidPushType : nil
        case .expiration: headers.expiration.map(Self.isTime) == false ? .badExpirationDate : nil
        case .path: pathFailure
        case .deviceToken: deviceToken.map(Self.isHex) == true ? nil : .badDeviceToken
        case .payload: payloadFailure
        case .credential, .topicCovered: nil
        }
    }

    private var priorityFailure: APNsRejection? {
        switch headers.priority {
        case nil, "5", "1": nil
        case "10": type == .background ? .badPriority : nil
        default: .badPriority
        }
    }

    private var pathFailure: APNsRejection? {
        switch deviceToken {
        case nil: .badPath
        case "": .missingDeviceToken
        default: nil
        }
    }

    private var payloadFailure: APNsRejection? {
        let limit = type?.payloadLimit ?? APNsPushType.alert.payloadLimit
        return switch request.body.readableBytes {
        case 0: .payloadEmpty
        case ...limit: isReadable ? nil : .badRequestPayload
        default: .payloadTooLarge
        }
    }

    /// Whether the phone would use every value of the payload.
    private var isReadable: Bool {
        guard let payload = JSONParser.parse(request.body.readableBytesView)?.members else { return true }
        return ApplePayload.fault(in: payload) == nil
    }

    /// Returns whether a text is a time in seconds.
    ///
    /// Milliseconds are rejected, which APNs would take for a time thousands of years ahead.
    private static func isTime(_ text: String) -> Bool { UInt64(text).map { $0 < 100_000_000_000 } ?? false }

    /// Returns whether a text is hexadecimal with whole bytes, of any length: Apple warns against assuming a length.
    private static func isHex(_ text: String) -> Bool {
        text.utf8.count.isMultiple(of: 2)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                    UInt8(ascii: "A")...UInt8(ascii: "F"):
                    true
                default: false
                }
            }
    }
}
