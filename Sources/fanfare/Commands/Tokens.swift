import ArgumentParser
import FanfareCore
import FanfareRecords
import FanfareService
import FanfareTools

/// `fanfare tokens`: the tokens of the HTTP API.
struct Tokens: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Create, list and revoke HTTP API tokens.",
        subcommands: [Create.self, List.self, Revoke.self]
    )

    fileprivate static let scopes = TokenScope.allCases.map(\.rawValue).joined(separator: ", ")
}

extension Tokens {
    /// `fanfare tokens create`.
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a token and print it.",
            discussion: "It is shown only once; only a hash of its secret is stored."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Option(
            name: .customLong("scope"),
            help: "What it allows: \(Tokens.scopes); may be given several times."
        )
        var scopes: [TokenScope] = []

        @Option(help: "Limit it to this app.")
        var app: String?

        @Option(help: "Requests a second; by default as the configuration says.")
        var rate: Int32?

        @Option(help: "How long it is valid, such as 90d; by default it does not expire.")
        var lifetime: TimeSpan?

        @Argument(help: "A name for people.")
        var name: String

        func validate() throws {
            if let rate, rate < 1 { throw ValidationError("--rate is at least 1.") }
        }

        func run() async throws {
            var request = APITokenRequest(name: name, scopes: scopes)
            (request.app, request.rate, request.lifetime) = (app, rate, lifetime)
            let token = try await options.withDatabase { [request] database throws(ToolError) in
                try await database.createToken(request)
            }
            try options.show(["id": .number(JSONNumber(token.id)), "token": .string(token.text)], token.text)
        }
    }

    /// `fanfare tokens list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List tokens, the newest first, without their secrets."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Flag(help: "Omit revoked and expired tokens.")
        var valid = false

        func run() async throws {
            let tokens = try await options.withDatabase { database throws(ToolError) in
                try await database.tokens(onlyValid: valid)
            }
            try options.show(.array(tokens.map(\.json)), APITokenRow.table(tokens))
        }
    }

    /// `fanfare tokens revoke`.
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End a token; daemons refuse it within a second."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Argument(help: "Its id, the number behind ff_.")
        var id: Int32

        func run() async throws {
            let isNew = try await options.withDatabase { database throws(ToolError) in
                try await database.revokeToken(id)
            }
            try options.show(["revoked": .bool(isNew)], isNew ? "revoked" : "was revoked before")
        }
    }
}
