internal import FanfareCore

/// An answer of a Web Push service, as far as it matters for what follows.
public struct WebPushAnswer: Equatable, Sendable {
    /// The header fields that matter, in lower case: what a transport has to keep, also beside a 2xx status.
    public static let headers = [
        "retry-after", "x-wns-notificationstatus", "x-wns-status", "x-wns-error-description",
    ]

    /// The HTTP status.
    public let status: Int
    /// What the body said.
    public let error: WebPushErrorBody
    /// The value of the field `Retry-After`.
    public let retryAfter: String?
    /// What WNS did with a push it answered with 2xx: `received`, `dropped`, `channelthrottled`.
    public let windowsStatus: String?
    /// Why WNS refused a push; its bodies are empty.
    public let windowsError: String?

    /// An answer.
    ///
    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - error: what the body said.
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

    /// An answer with its body unread; the body of a success is left alone.
    ///
    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - body: the body's bytes.
    ///   - header: gives the value of a field by its name in lower case, of those in ``headers``.
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
