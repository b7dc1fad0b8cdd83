import Foundation
import Programs

/// An installed PostgreSQL server: the directory with `initdb`, `pg_ctl` and `postgres`.
struct ServerBinaries: Equatable {
    let directory: String
    let majorVersion: Int

    /// The oldest version that Fanfare's schema supports.
    static let oldestVersion = 15

    /// Finds the newest server, or the one of a given version.
    ///
    /// Searches only the directory `FANFARE_POSTGRES` if that is set. Otherwise searches PATH, the directory that
    /// `pg_config` prints, and the directories that Debian, PGDG and a build from source use.
    ///
    /// - Parameter version: the major version an existing data directory needs; nil for the newest.
    /// - Returns: the programs to use.
    /// - Throws: `noServerBinaries`.
    static func find(version: Int? = nil) throws(ClusterError) -> ServerBinaries {
        let installed = candidateDirectories().compactMap(inspect)
        let usable = installed.filter { $0.majorVersion >= oldestVersion }
        if let version {
            if let match = usable.first(where: { $0.majorVersion == version }) { return match }
            throw ClusterError(
                .noServerBinaries,
                "the data is of PostgreSQL \(version), which is not installed",
                hint: "Install postgresql-\(version), or delete the data." + chosenOnly
            )
        }
        guard let newest = usable.max(by: { $0.majorVersion < $1.majorVersion }) else {
            throw ClusterError(
                .noServerBinaries,
                "no PostgreSQL server of version \(oldestVersion) or newer found",
                hint: "Install one (on Debian: apt install postgresql) or put the directory of initdb into PATH."
                    + chosenOnly
            )
        }
        return newest
    }

    /// The hint that only `FANFARE_POSTGRES` is searched, if it is set.
    private static var chosenOnly: String {
        ProcessInfo.processInfo.environment["FANFARE_POSTGRES"].map { " FANFARE_POSTGRES allows only \($0)." } ?? ""
    }

    private static func candidateDirectories() -> [String] {
        let environment = ProcessInfo.processInfo.environment
        if let chosen = environment["FANFARE_POSTGRES"], !chosen.isEmpty { return [chosen] }
        let path = environment["PATH"] ?? "/usr/bin:/bin"
        var directories = path.split(separator: ":").map(String.init)
        if let configured = try? Command.output(["pg_config", "--bindir"]) {
            directories.append(configured)
        }
        for parent in ["/usr/lib/postgresql", "/usr/local/lib/postgresql"] {
            let versions = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
            directories += versions.map { "\(parent)/\($0)/bin" }
        }
        let redHat = (try? FileManager.default.contentsOfDirectory(atPath: "/usr")) ?? []
        directories += redHat.filter { $0.hasPrefix("pgsql-") }.map { "/usr/\($0)/bin" }
        return directories + ["/usr/local/pgsql/bin"]
    }

    private static func inspect(_ directory: String) -> ServerBinaries? {
        // PATH often contains links or wrappers for single programs; the server needs the programs beside the real one.
        let directory = URL(fileURLWithPath: directory + "/pg_ctl").resolvingSymlinksInPath()
            .deletingLastPathComponent()
        let programs = ["initdb", "pg_ctl", "postgres"].map { directory.path + "/" + $0 }
        guard programs.allSatisfy(FileManager.default.isExecutableFile(atPath:)) else { return nil }
        // "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"
        guard let version = try? Command.output([directory.path + "/postgres", "--version"]),
            let major = version.firstMatch(of: #/\(PostgreSQL\) ([0-9]+)/#).flatMap({ Int($0.1) })
        else { return nil }
        return ServerBinaries(directory: directory.path, majorVersion: major)
    }
}
