internal import Foundation

/// Which configuration file is read.
public enum ConfigurationFile {
    /// The variable that names it where no flag does.
    public static let variable = "FANFARE_CONFIG"
    /// Where it is looked for if nothing names it; the first that is there is read.
    public static let places = ["./fanfare.yaml", "/etc/fanfare/fanfare.yaml"]

    /// Finds the file.
    ///
    /// - Parameters:
    ///   - flag: what `-c` names, if it was given; whether it is there is not looked at.
    ///   - environment: variables of the process; ``variable`` counts unless it is empty.
    /// - Returns: its path as it was named; nil if nothing names one and none is there.
    public static func find(flag: String?, environment: [String: String]) -> String? {
        find(flag: flag, environment: environment) { FileManager.default.fileExists(atPath: $0) }
    }

    static func find(flag: String?, environment: [String: String], isThere: (String) -> Bool) -> String? {
        let named = flag ?? environment[variable].flatMap { $0.isEmpty ? nil : $0 }
        return named ?? places.first(where: isThere)
    }

    /// What to do where none can be read.
    static var mend: String {
        "Name it with -c or \(variable); if nothing names it, \(places.joined(separator: " and then ")) are looked for."
    }
}
