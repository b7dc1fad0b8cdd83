import Foundation
import TestKit

@testable import DaemonKit
@testable import FanfareMoving
@testable import FanfareTools

/// An import of a text into the running test's database, with its messages.
struct TestImporter {
    /// The error that stops an import deliberately.
    static let stop = ToolError(.failed, "stopped by the test")

    let folder: String
    var rowsAtOnce = 3
    /// The number of chunks after which the import is stopped; nil for all.
    var chunks: Int?
    var rejects: String?
    var user: String?
    var request = DeviceImportRequest(app: "shop")
    private(set) var refused: [String] = []
    private(set) var resumedAt: Int64?
    private(set) var stoppedBefore: Int64?
    private(set) var columns: [String] = []

    init(_ folder: String) {
        self.folder = folder
    }

    /// Writes a text to a file and returns its path.
    func file(_ text: String, named name: String = "devices.csv") throws -> String {
        let path = "\(folder)/\(name)"
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    /// Imports a text.
    mutating func run(_ text: String) async throws -> ImportTally { try await run(file: file(text)) }

    /// Imports a file.
    mutating func run(file: String) async throws -> ImportTally {
        (refused, resumedAt, stoppedBefore) = ([], nil, nil)
        let rejected = try rejects.map { try RejectedRows(path: $0, resumes: request.resumes) }
        var work = try DeviceImport(request, try ImportSource(file), rejects: rejected)
        work.rowsAtOnce = rowsAtOnce
        var news: [ImportNews] = []
        var left = chunks
        defer { for item in news { take(item) } }
        return try await toolDatabase(user: user).whileOpen { database throws(ToolError) in
            try await work.run(on: database) { item throws(ToolError) in
                news.append(item)
                guard case .progress = item, let count = left else { return }
                left = count - 1
                if count == 1 { throw TestImporter.stop }
            }
        }
    }

    private mutating func take(_ news: ImportNews) {
        switch news {
        case .columns(let used, _): columns = used
        case .resumed(let line, _): resumedAt = line
        case .stoppedBefore(let line): stoppedBefore = line
        case .refused(let line, let column, let reason): refused.append("\(line) \(column ?? "-"): \(reason)")
        case .progress: break
        }
    }
}
