import ArgumentParser
import FanfareRecords
import FanfareStore
import PostgresClient

/// `fanfare-lab statements`: the SQL that Fanfare runs.
struct StatementsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "statements",
        abstract: "Show the SQL that Fanfare runs.",
        // Unlike the lab's other commands, it is no command of `fanfare`.
        usage: "fanfare-lab statements [<name>]",
        discussion: """
            Without a name, prints the names of all statements. pg_prepared_statements shows the same names.
            """
    )

    @Argument(help: "The statement's name, such as plan_round.")
    var name: String?

    func run() throws {
        let all = (StoreStatements.all + RecordsStatements.all).sorted { $0.name < $1.name }
        guard let name else {
            for statement in all { print(statement.name) }
            return
        }
        guard let statement = all.first(where: { $0.name == name }) else {
            throw ValidationError("no statement is called '\(name)'; `fanfare-lab statements` prints all names")
        }
        print(statement.sql)
    }
}
