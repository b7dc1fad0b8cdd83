package import FanfareCore
internal import HTTP2Client
internal import PushCrypto
package import PushTransport
internal import Threading

/// Tests whether Google issues an access token for the service account, and whether FCM accepts it for the project.
package struct FCMProbe {
    /// An invalid token: `!` occurs in no registration token.
    static let token = FCMTarget.token("fanfare-check!")

    /// The app's FCM credentials.
    package let credentials: FCMSettings
    private let app: String
    private let probe: ProviderProbe

    package init(app: String, credentials: FCMSettings, transports: ProviderTransports) {
        self.app = app
        self.credentials = credentials
        probe = ProviderProbe(name: "FCM for \(app)", endpoint: credentials.endpoint, transports: transports)
    }

    /// Sends the requests and judges the answers.
    ///
    /// - Parameter files: reads the service account.
    /// - Returns: the finding.
    func item(_ files: CredentialFiles) -> CheckItem {
        probe.item {
            let access = try access(files)
            return judge(try ask(access), project: access.project)
        }
    }

    /// An access token and its project.
    package struct Access {
        /// The project's id.
        package let project: String
        /// The token itself.
        package let token: String
        /// The time from which it should be renewed (steady clock).
        package let renewsAt: Microseconds
    }

    /// Requests an access token from the token endpoint.
    ///
    /// - Parameter files: reads the service account.
    /// - Returns: the token and its project.
    /// - Throws: ``ProbeProblem`` with the endpoint's error, or the reason why the file cannot be used.
    package func access(_ files: CredentialFiles) throws -> Access {
        let account = try files.serviceAccount(credentials, app: app)
        let asked = Clocks.steady
        let granted = try askForToken(account)
        if let problem = judge(granted, of: account) {
            throw ProbeProblem(problem.detail, hint: problem.advice)
        }
        let answer = try? JSONValue(parsing: granted.body)
        guard let token = answer?["access_token"]?.stringValue, !token.isEmpty else {
            throw ProbeProblem("\(account.tokenURI) gave no access token", hint: Self.wrongPlace)
        }
        let seconds = answer?["expires_in"]?.numberValue?.integer.map(Double.init)
        let times = AccessTokenTimes(asked: asked, answered: Clocks.steady, expiresIn: seconds)
        return Access(project: account.projectID, token: token, renewsAt: times.renewsAt)
    }

    private static let wrongPlace = "Is token_uri in the service account's file the one that Google wrote?"

    private func askForToken(_ account: ServiceAccount) throws -> SingleAnswer {
        let url = try HTTPSURL(account.tokenURI)
        let (caFile, proxy) = (credentials.caFile, probe.transports.proxy)
        return try SingleRequest(tokenFor: account, from: url, caFile: caFile, proxy: proxy).send()
    }

    private func ask(_ access: Access) throws -> PushAnswer {
        let message = FCMRequest.validatingOnly(Array("{\"message\":{".utf8))
        return try ask(message + Self.token.insertion + Array("}}".utf8), access)
    }

    /// Asks FCM whether the project exists, by a message that it only validates.
    ///
    /// - Parameter access: the access token and its project.
    /// - Returns: false if FCM says that there is no such project; true also if it does not say.
    /// - Throws: if the transport cannot be made.
    package func knowsProject(_ access: Access) throws -> Bool {
        let answer = try ask(access)
        return answer.status != 404 || FCMErrorBody(parsing: answer.body).errorCode != nil
    }

    /// Sends one request to FCM.
    ///
    /// - Parameters:
    ///   - body: the request's body.
    ///   - access: the access token and its project.
    /// - Returns: the answer, or why there is none.
    /// - Throws: if the transport cannot be made.
    package func ask(_ body: [UInt8], _ access: Access) throws -> PushAnswer {
        let head = try HeaderBlock([
            HeaderField("authorization", "Bearer \(access.token)"),
            HeaderField("content-type", "application/json"),
        ])
        let request = try PushRequest(
            tag: 1,
            path: Array(FCMRequest.path(project: access.project).utf8),
            head: head,
            body: PushBody(body)
        )
        var options = TransportOptions()
        options.caFile = credentials.caFile
        return try probe.answer(to: request, options: options)
    }

    /// Judges the answer of the token endpoint (RFC 6749 section 5.2).
    ///
    /// - Returns: the error; nil if the endpoint issued a token.
    private func judge(_ answer: SingleAnswer, of account: ServiceAccount) -> CheckItem? {
        if answer.cause != .none {
            let advice = "Is \(account.tokenURI) reachable from here, and its certificate trusted?"
            return CheckItem(.fail, probe.name, "no answer: \(answer.detail)", advice: advice)
        }
        guard answer.status != 200 else { return nil }
        let error = (try? JSONValue(parsing: answer.body))?["error"]?.stringValue
        let word = error.map { String($0.prefix(64)) } ?? "no reason"
        let detail = "\(account.tokenURI) says \(answer.status) \(word)"
        switch (answer.status, word) {
        case (429, _), (500..., _): return CheckItem(.warn, probe.name, detail, advice: "Try again later.")
        case (_, "invalid_grant"):
            let advice = "Is this machine's clock right, and does \(account.clientEmail) still have this key?"
            return CheckItem(.fail, probe.name, detail, advice: advice)
        default:
            return CheckItem(.fail, probe.name, detail, advice: "Make a new key for the service account.")
        }
    }

    /// Judges FCM's answer: an error about the token means that FCM accepted everything before the token.
    func judge(_ answer: PushAnswer, project: String) -> CheckItem {
        guard answer.fate == .answered else { return probe.unanswered(answer.detail) }
        let error = FCMErrorBody(parsing: answer.body)
        let (status, reason) = (answer.status, error.reason ?? "no reason")
        let code = error.errorCode.flatMap { FCMErrorCode(text: $0) }
        switch (status, code) {
        case (200, _), (404, .unregistered), (403, .senderIDMismatch): return taken(project)
        case (400, _) where error.namesToken: return taken(project)
        case (401, _):
            return probe.said(.fail, status, reason, "Is the service account one of project \(project), and enabled?")
        case (403, _):
            let advice =
                "Enable the Firebase Cloud Messaging API of project \(project), and give the account a role with "
                + "cloudmessaging.messages.create."
            return probe.said(.fail, status, reason, advice)
        case (404, _): return probe.said(.fail, status, reason, "Is there a Firebase project \(project)?")
        case (429, _), (500..., _): return probe.said(.warn, status, reason, "Try again later.")
        default: return probe.said(.fail, status, reason, "Look up the reason in Firebase's documentation of FCM.")
        }
    }

    private func taken(_ project: String) -> CheckItem {
        CheckItem(.ok, probe.name, "\(probe.endpoint) takes the service account for project \(project)")
    }
}
