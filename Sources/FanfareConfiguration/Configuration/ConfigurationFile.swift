internal import Foundation

/// Finds the configuration file.
public enum ConfigurationFile {
    /// The variable that names the file if no flag does.
    public static let variable = "FANFARE_CONFIG"
    /// The default paths; the first one that exists is read.
    public static let places = ["./fanfare.yaml", "/etc/fanfare/fanfare.yaml"]

    /// Finds the file.
    ///
    /// - Parameters:
    ///   - flag: the argument of `-c`, if given; it need not exist.
    ///   - environment: variables of the process; ``variable`` counts unless it is empty.
    /// - Returns: the path as given; nil if none is named and no default path exists.
    public static func find(flag: String?, environment: [String: String]) -> String? {
        find(flag: flag, environment: environment) { FileManager.default.fileExists(atPath: $0) }
    }

    static func find(flag: String?, environment: [String: String], isThere: (String) -> Bool) -> String? {
        let named = flag ?? environment[variable].flatMap { $0.isEmpty ? nil : $0 }
        return named ?? places.first(where: isThere)
    }

    /// The advice if there is no readable file.
    static var mend: String {
        "Name it with -c or \(variable); if nothing names it, \(places.joined(separator: " and then ")) are looked for."
    }
}
