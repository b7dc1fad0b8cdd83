import Foundation

/// The location of the program `fanfare`, which this program belongs to.
enum MainProgram {
    /// The path of `fanfare`, beside this program's file.
    static var path: String {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        return own.deletingLastPathComponent().appendingPathComponent("fanfare").path
    }

    /// The name for messages: `fanfare` usually starts this program under its own name.
    static var name: String {
        let name = CommandLine.arguments[0]
        return name.hasSuffix("-lab") ? String(name.dropLast(4)) : name
    }
}
