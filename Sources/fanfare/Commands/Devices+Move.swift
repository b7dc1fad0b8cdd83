import ArgumentParser
import FanfareCore
internal import FanfareLogging
internal import FanfareMoving
import FanfareTools
import Foundation

extension Devices {
    /// `fanfare devices import`.
    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Import devices from another system: tables of tokens, OneSignal's export, JSON lines.",
            discussion: """
                Each row is registered as `devices register` does it, and what that refuses is refused with its line, column and reason; \
                the others are imported. A row that says when it was registered, or last seen, changes nothing that is newer here; \
                one that does not is older than anything that an app registers. Unsubscribed and invalid ones are skipped. \
                Exits with 1 if any row was refused. See MovingIn.md for the columns.
                """
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Argument(help: "A CSV file with a header, or JSON lines; - reads standard input.", completion: .file())
        var file: String

        @Option(help: "The app.")
        var app: String

        @Option(help: "The system it comes from.")
        var format = DeviceImportRequest.Format.auto

        @Option(
            help:
                "Take a column for a field: --map deviceId=token; - for nothing, attributes.NAME for an attribute. May be repeated."
        )
        var map: [String] = []

        @Option(help: "The provider of rows that name none.")
        var provider: String?

        @Option(help: "The environment of rows that name none: production or sandbox.")
        var environment: String?

        @Option(help: "When rows that do not say so were registered; without it, before all that is here.")
        var asOf: String?

        @Flag(help: "Also import unsubscribed and invalid devices, disabled.")
        var includeDisabled = false

        @Flag(help: "Change nothing, and report what the import would do.")
        var dryRun = false

        @Option(help: "Write refused rows here, with line, column and reason, to be fixed and imported.")
        var rejects: String?

        @Flag(help: "Continue where an import of the same file stopped.")
        var resume = false

        func run() async throws {
            var request = DeviceImportRequest(app: app)
            request.format = format
            request.mappings = try map.map { try ColumnMapping($0) }
            request.provider = provider
            request.environment = environment
            request.asOf = asOf
            request.includesDisabled = includeDisabled
            request.isDryRun = dryRun
            request.resumes = resume
            let source = try ImportSource(file)
            if resume, source.size == nil {
                throw ValidationError("\(source.name) cannot be read again from where it was: --resume needs a file.")
            }
            let rejected = try rejects.map { path in try RejectedRows(path: path, resumes: resume) }
            var work = try DeviceImport(request, source, rejects: rejected)
            var voice = ImportVoice(isDryRun: dryRun)
            let tally = try await options.withDatabase { database throws(ToolError) in
                try await work.run(on: database) { news throws(ToolError) in voice.tell(news) }
            }
            voice.end()
            try options.show(tally.json, tally.text)
            if tally.refusedCount > 0 { throw ExitCode(ToolError.Kind.failed.rawValue) }
        }
    }

    /// `fanfare devices export`.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Export an app's devices with their topics, without or with tokens.",
            discussion: """
                `devices import` reads it. With tokens and keys it is as worth keeping secret as the database. Tokens that another user has \
                now are not among it.
                """
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Option(help: "The app.")
        var app: String

        @Option(help: "The format.")
        var format = DeviceExport.Format.csv

        @Option(help: "Of this provider only.")
        var provider: String?

        @Flag(help: "Devices that get nothing, too.")
        var includeDisabled = false

        @Flag(help: "With tokens and keys.")
        var withTokens = false

        @Option(help: "The file to write, which must not be there; without it, standard output.", completion: .file())
        var output: String?

        func run() async throws {
            var export = DeviceExport(app: app)
            export.format = format
            export.provider = provider
            export.includesDisabled = includeDisabled
            export.withTokens = withTokens
            let file = try output.map { path in try PrivateFile.new(path) }
            let handle = file ?? .standardOutput
            let count = try await options.withDatabase { [export] database throws(ToolError) in
                try await export.run(on: database) { bytes throws(ToolError) in
                    do {
                        try handle.write(contentsOf: Data(bytes))
                    } catch {
                        throw ToolError(
                            .failed,
                            "the export cannot be written further: \(error.localizedDescription)",
                            hint: "Is the disk full, or the pipe closed?"
                        )
                    }
                }
            }
            if file != nil { try options.show(["exported": .number(JSONNumber(count))], "\(count) exported") }
        }
    }
}

/// Reports the progress of an import on standard error.
struct ImportVoice {
    /// The number of refused rows that are shown.
    private static let refusalLimit = 20

    private let isTerminal = isatty(FileHandle.standardError.fileDescriptor) == 1
    private var progress: ImportProgress
    private var refused = 0
    private var hasLine = false

    init(isDryRun: Bool) {
        progress = ImportProgress(every: isTerminal ? .milliseconds(200) : .seconds(10))
        if isDryRun { write("nothing is changed, and a token that is in the file twice counts twice") }
    }

    mutating func tell(_ news: ImportNews) {
        switch news {
        case .columns(let used, let unused):
            write("columns: \(used.joined(separator: ", "))")
            if !unused.isEmpty { write("not used: \(unused.joined(separator: ", "))") }
        case .resumed(let line, let tally):
            progress.resume(after: tally.read)
            write("continues at line \(line)")
        case .stoppedBefore(let line):
            write("an import of this file stopped at line \(line): --resume would have continued there")
        case .refused(let line, let column, let reason):
            refused += 1
            guard refused <= Self.refusalLimit else { return }
            let place = column.map { ", \($0.printable)" } ?? ""
            write("line \(line)\(place): \(reason.printable)")
            if refused == Self.refusalLimit { write("more refused rows are only counted") }
        case .progress(let tally, let share):
            guard let line = progress.line(tally, share: share) else { return }
            if isTerminal {
                hasLine = true
                FileHandle.standardError.write(Data("\r\u{1B}[K\(line)".utf8))
            } else {
                write(line)
            }
        }
    }

    /// Ends the progress line.
    mutating func end() {
        guard hasLine else { return }
        hasLine = false
        FileHandle.standardError.write(Data("\r\u{1B}[K".utf8))
    }

    private mutating func write(_ line: String) {
        end()
        FileHandle.standardError.write(Data("fanfare: \(line)\n".utf8))
    }
}
