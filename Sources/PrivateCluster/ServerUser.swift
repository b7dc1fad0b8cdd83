import Foundation
import Programs

/// The account that the server runs as: this process's, unless that is root, which PostgreSQL refuses.
struct ServerUser {
    let id: Int
    let groupID: Int
    /// The words that run a command as this user; empty for this process's own user.
    let prefix: [String]

    /// Selects the account.
    ///
    /// - Returns: this process's account; if that is root, `postgres` or else `nobody`.
    /// - Throws: `cannotPrepare` if root finds neither, or no program to change to it.
    static func choose() throws(ClusterError) -> ServerUser {
        guard geteuid() == 0 else {
            return ServerUser(id: Int(geteuid()), groupID: Int(getegid()), prefix: [])
        }
        for name in ["postgres", "nobody"] {
            guard let id = number("-u", name), let groupID = number("-g", name) else { continue }
            let ways = [
                ["setpriv", "--reuid=\(id)", "--regid=\(groupID)", "--init-groups", "--"],
                ["runuser", "-u", name, "--"],
                ["su", "-s", "/bin/sh", name, "-c", #"exec "$0" "$@""#, "--"],
            ]
            if let way = ways.first(where: { (try? Command.output($0 + ["true"])) != nil }) {
                return ServerUser(id: id, groupID: groupID, prefix: way)
            }
        }
        throw ClusterError(
            .cannotPrepare,
            "PostgreSQL does not run as root, and no other user could be used",
            hint:
                "Run as an ordinary user, or install util-linux (setpriv, runuser) and have a user postgres or nobody."
        )
    }

    /// Returns whether this user can enter and write an existing directory.
    func canUse(_ directory: String) -> Bool {
        (try? Command.output(prefix + ["sh", "-c", #"cd "$1" && test -w ."#, "sh", directory])) != nil
    }

    private static func number(_ flag: String, _ name: String) -> Int? {
        (try? Command.output(["id", flag, name])).flatMap { Int($0) }
    }
}
