import Foundation

/// Where `fanfare` is, of which this program is a part.
enum MainProgram {
    /// Its file, beside this program's.
    static var path: String {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        return own.deletingLastPathComponent().appendingPathComponent("fanfare").path
    }

    /// As people call it: this program was started by it under its name, mostly.
    static var name: String {
        let name = CommandLine.arguments[0]
        return name.hasSuffix("-lab") ? String(name.dropLast(4)) : name
    }
}
