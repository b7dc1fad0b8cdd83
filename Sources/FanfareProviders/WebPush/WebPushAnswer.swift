internal import FanfareCore

/// The parts of a Web Push response that decide how a delivery continues.
public struct WebPushAnswer: Equatable, Sendable {
    /// The header fields in use, in lower case, which a transport must keep for a 2xx status too.
    public static let headers = [
        "retry-after", "x-wns-notificationstatus", "x-wns-status", "x-wns-error-description",
    ]

    /// The HTTP status.
    public let status: Int
    /// The parsed error body.
    public let error: WebPushErrorBody
    /// The value of the `Retry-After` field.
    public let retryAfter: String?
    /// The action of WNS for a push that it answered with 2xx: `received`, `dropped`, `channelthrottled`.
    public let windowsStatus: String?
    /// The error of WNS, whose bodies are empty.
    public let windowsError: String?

    /// Makes an answer.
    ///
    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - error: the parsed error body.
    ///   - retryAfter: the value of `Retry-After`.
    ///   - windowsStatus: the value of `X-WNS-NotificationStatus`, else of `X-WNS-Status`.
    ///   - windowsError: the value of `X-WNS-Error-Description`.
    public init(
        status: Int,
        error: WebPushErrorBody = WebPushErrorBody(),
        retryAfter: String? = nil,
        windowsStatus: String? = nil,
        windowsError: String? = nil
    ) {
        self.status = status
        self.error = error
        self.retryAfter = retryAfter
        self.windowsStatus = windowsStatus
        self.windowsError = windowsError
    }

    /// Makes an answer and parses its body, except for a 2xx.
    ///
    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - body: the body's bytes.
    ///   - header: returns the value of a field in ``headers`` by its name in lower case.
    public init(status: Int, body: some Collection<UInt8>, header: (String) -> String?) {
        self.init(
            status: status,
            error: (200...299).contains(status) ? WebPushErrorBody() : WebPushErrorBody(parsing: body),
            retryAfter: header("retry-after"),
            windowsStatus: header("x-wns-notificationstatus") ?? header("x-wns-status"),
            windowsError: header("x-wns-error-description")
        )
    }
}
