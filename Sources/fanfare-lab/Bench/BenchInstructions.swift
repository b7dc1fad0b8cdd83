import ArgumentParser
import FanfareService
import Foundation
import Programs
import PushSandbox

/// `fanfare bench instructions`: counts the instructions per push, which do not change with the load of the machine.
struct BenchInstructions: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "instructions",
        abstract: "Count the daemon's instructions per push of a broadcast, by valgrind.",
        discussion: """
            Only the program's own instructions are counted, not the kernel's. The daemon and h2load push to nghttpd. \
            The daemon runs about 50 times slower than without valgrind.
            """
    )

    @OptionGroup var options: BenchOptions

    @Option(help: "Devices, all of which a broadcast reaches.")
    var devices = 50_000

    func validate() throws {
        guard devices >= 1 else { throw ValidationError("--devices must be at least 1") }
    }

    func run() async throws {
        let report = try await BenchPlace.use { place in
            let (sandbox, own) = try await place.startSandbox(named: "sandbox", keepsLedger: false)
            let certificates = sandbox.ready.dir
            let sink = try await blocking {
                own.at(try place.startNghttpd(certificates: certificates), caFile: own.caFile)
            }
            let (database, configuration) = try await place.startDatabase(devices: devices, sink: sink)
            return try await blocking { [devices, runs = options.runs] in
                let counter = try InstructionCounter(place: place)
                let program = try place.daemonWithoutDebugInformation()
                var report = BenchReport(setting: ["devices": "\(devices)", "version": Program.version])
                var counts: (daemon: [Double], h2load: [Double]) = ([], [])
                for run in 1...runs {
                    note("run \(run) of \(runs): the daemon under valgrind")
                    counts.daemon.append(
                        try counter.perUnit(devices) { broadcasts, valgrind in
                            let daemon = try DaemonProcess.start(
                                named: "instructions",
                                command: valgrind + [program],
                                configuration: configuration,
                                database: database,
                                in: place
                            )
                            defer { daemon.process.stop() }
                            let bench = ThroughputBench(daemon: daemon, database: database)
                            for _ in 0..<broadcasts { _ = try bench.broadcast() }
                        }
                    )
                    guard BenchPlace.program("h2load") != nil else { continue }
                    note("run \(run) of \(runs): h2load under valgrind")
                    let load = try TransportLoad(sink: sink, requests: devices)
                    counts.h2load.append(
                        try counter.perUnit(devices) { times, valgrind in
                            _ = try load.with(requests: devices * times).h2load(under: valgrind)
                        }
                    )
                }
                report.add("instructions", "daemon's instructions per push", "", counts.daemon, bar: .atMost(23_500))
                report.add("instructions.h2load", "h2load's instructions per request", "", counts.h2load)
                return report
            }
        }
        try options.show(report)
    }
}

extension BenchPlace {
    /// Copies the daemon's program without its debug information, which valgrind 3.19 cannot read.
    fileprivate func daemonWithoutDebugInformation() throws -> String {
        let copy = directory + "/fanfare"
        let strip = try Command.wait(for: ["strip", "--strip-debug", "-o", copy, MainProgram.path])
        guard strip.status == 0 else {
            throw BenchError("strip failed; on Debian: apt install binutils\n\(strip.errors)")
        }
        return copy
    }
}

/// Counts the instructions of programs by valgrind's callgrind.
struct InstructionCounter: Sendable {
    private let place: BenchPlace
    private let valgrind: String

    init(place: BenchPlace) throws {
        guard let program = BenchPlace.program("valgrind") else {
            throw BenchError("valgrind is not installed; on Debian: apt install valgrind")
        }
        (self.place, valgrind) = (place, program)
    }

    /// Counts the instructions of one unit of work: the difference between a program that does the work three times
    /// and one that does it once, so that start and end cancel out.
    ///
    /// - Parameters:
    ///   - units: the units in the work.
    ///   - body: runs a program that does the work so many times, and waits until it ends; gets the words before its
    ///     command.
    /// - Returns: the instructions per unit.
    /// - Throws: the error of `body`, or if callgrind wrote no total.
    func perUnit(_ units: Int, _ body: (_ times: Int, _ valgrind: [String]) throws -> Void) throws -> Double {
        let once = try count { try body(1, $0) }
        return (try count { try body(3, $0) } - once) / Double(2 * units)
    }

    private func count(_ body: ([String]) throws -> Void) throws -> Double {
        let file = place.directory + "/callgrind.\(UUID().uuidString.prefix(8))"
        try body([valgrind, "--tool=callgrind", "--callgrind-out-file=\(file)"])
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        guard let total = lines.last(where: { $0.hasPrefix("totals: ") }).flatMap({ Double($0.dropFirst(8)) }) else {
            throw BenchError("callgrind wrote no total into \(file)")
        }
        return total
    }
}
