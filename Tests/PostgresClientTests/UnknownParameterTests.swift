import PostgresClient
import Testing

/// Parameters of connection URLs that libpq does not know.
@Suite struct UnknownParameterTests {
    private func refusal(_ url: String) throws -> PostgresError {
        let error = try #require(throws: PostgresError.self) { try PostgresConnection.open(PostgresOptions(url: url)) }
        #expect(error.code == .invalidOptions, "\(error)")
        return error
    }

    @Test(arguments: [
        ("postgres://u@127.0.0.1:1/db?pgbouncer=true", "pgbouncer", "not through a pool"),
        ("postgresql://u@127.0.0.1:1/db?sslmode=disable&schema=public", "schema", "Leave it out"),
        ("postgres://u@127.0.0.1:1/db?sslmod=require", "sslmod", "spelling"),
        ("host=127.0.0.1 port = 1 application_name='a b=c' schema=public", "schema", "Leave it out"),
        ("host=127.0.0.1 application_name=a\\ schema=b connection_limit=1", "connection_limit", "not through a pool"),
    ])
    func theWordIsNamedAndWhatToDo(_ url: String, _ word: String, _ advice: String) throws {
        let error = try refusal(url)
        let words = /the database URL has the parameter (\w+), which libpq \d+\.\d+ does not know/
        #expect(error.message.wholeMatch(of: words)?.1 == word[...], "\(error.message)")
        #expect(error.hint?.contains(advice) == true, "\(error.hint ?? "")")
    }

    /// A parameter that the installed libpq supports is not an error.
    @Test(arguments: [("require_auth", "16"), ("sslnegotiation", "17"), ("min_protocol_version", "18")])
    func whatANewerLibpqKnowsSaysFromWhichOn(_ word: String, _ release: String) throws {
        let error = try #require(throws: PostgresError.self) {
            try PostgresConnection.open(PostgresOptions(url: "postgres://u@127.0.0.1:1/db?\(word)=x"))
        }
        guard error.message.contains("does not know") else { return }
        #expect(error.message.contains("the parameter \(word), which"))
        #expect(error.hint?.contains("from version \(release) on") == true)
    }

    /// The rest of an unencoded password may look like a parameter.
    @Test(arguments: [
        "postgres://u:x?hunter=2@127.0.0.1:1/db?no=1", "postgres://u@127.0.0.1:1/db?password=x&hunter=2",
        "postgres://u@127.0.0.1:1/db?sslpassword=x&hunter=2", "host=127.0.0.1 password=x hunter=2",
        "host=127.0.0.1 password='x' hunter=2", "postgres://u@127.0.0.1:1/db?hunter2=x",
    ])
    func whatMayBeAPasswordIsNotNamed(_ url: String) throws {
        #expect(try !refusal(url).debugDescription.contains("hunter"))
    }
}
