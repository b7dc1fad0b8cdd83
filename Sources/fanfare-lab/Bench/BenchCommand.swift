import ArgumentParser

/// `fanfare bench`: measures this machine, and prints the bars of the design beside the figures.
struct BenchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench",
        abstract: "Measure the daemon, or its transport alone, on this machine.",
        discussion: """
            Uses a private PostgreSQL cluster and providers on loopback; nothing that exists is touched. A missed bar is \
            printed, not an error. Figures compare on one machine only.
            """,
        subcommands: [
            BenchDaemon.self, BenchEmit.self, BenchHTTP.self, BenchInstructions.self, BenchRounds.self,
            BenchTransport.self,
            BenchEncryption.self,
        ],
        defaultSubcommand: BenchDaemon.self
    )
}

/// The options of all benches.
struct BenchOptions: ParsableArguments {
    @Option(help: "How often each figure is taken; the median counts.")
    var runs = 3

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Measure a debug build, whose figures mean nothing.")
    var allowDebug = false

    func validate() throws {
        guard runs > 0 else { throw ValidationError("--runs must be at least 1") }
        #if DEBUG
            guard allowDebug else {
                throw ValidationError(
                    "this is a debug build, several times slower than what you would run; take "
                        + "deploy/release.sh and deploy/release.sh fanfare-lab, or --allow-debug to see that the bench itself works"
                )
            }
        #endif
    }

    /// Prints a report in the requested format.
    func show(_ report: BenchReport) throws {
        print(json ? try report.json() : report.text)
    }
}

/// An error that ends a bench without figures.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
