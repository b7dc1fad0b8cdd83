import Foundation

/// One Swift file of `Sources`.
struct SourceFile {
    /// From `Sources` on.
    let path: String
    let text: String
    /// Without comments.
    let code: String

    /// The folder below `Sources`.
    var target: String { String(path.split(separator: "/")[1]) }

    /// Its import lines: access level (empty if none is written) and module.
    var imports: [(access: String, module: String)] {
        code.matches(of: /(?m)^ *(?:@\w+ +)?(?:(public|internal|package|private|fileprivate) +)?import +(\w+)/)
            .map { (String($0.1 ?? ""), String($0.2)) }
    }

    /// All files, by path.
    static let all: [SourceFile] = {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let sources = root.appendingPathComponent("Sources").path
        let names = FileManager.default.enumerator(atPath: sources)?.compactMap { $0 as? String } ?? []
        precondition(names.contains { $0.hasSuffix(".swift") }, "no sources at \(sources)")
        return names.filter { $0.hasSuffix(".swift") }.sorted().map { name in
            let data = FileManager.default.contents(atPath: "\(sources)/\(name)") ?? Data()
            let text = String(decoding: data, as: UTF8.self)
            return SourceFile(
                path: "Sources/\(name)",
                text: text,
                code: text.replacing(/(?m)^ *\/\/.*$/, with: "")
            )
        }
    }()
}
