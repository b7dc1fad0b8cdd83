internal import Foundation

/// Reads passwords from files, and refuses world-readable files.
///
/// The file's group may read it, unlike a private key's file.
package struct PasswordFile: Sendable {
    private let guarded: [String]

    /// - Parameter environment: variables of the process, for ``GuardedFolders``.
    package init(environment: [String: String]) {
        guarded = GuardedFolders.paths(environment: environment).filter { $0.hasPrefix("/") }.map(Self.resolved)
    }

    /// Reads a password: the file's text without a final line end.
    ///
    /// - Parameters:
    ///   - path: the absolute path.
    ///   - key: the configuration key that names the file, for the message.
    /// - Returns: the password.
    /// - Throws: an error if the file is missing, empty, not a regular file, larger than 1 MiB, not one line of UTF-8,
    ///   or world-readable.
    package func password(at path: String, for key: String) throws(ConfigurationError) -> String {
        let bytes = try bytes(at: path, for: key)
        guard var text = String(validating: bytes, as: UTF8.self) else {
            throw refusal(path, key, "is not UTF-8", Self.content)
        }
        if text.last?.isNewline == true { text.removeLast() }
        guard !text.isEmpty, !text.contains(where: \.isNewline), !text.contains("\0") else {
            throw refusal(path, key, "must hold one line with the password and nothing else", Self.content)
        }
        return text
    }

    /// Reads a file whose content is secret.
    ///
    /// - Parameters:
    ///   - path: the absolute path.
    ///   - key: the configuration key that names the file, for the message.
    ///   - isSecret: decides by the content whether the file is secret. A world-readable file is read before it
    ///     decides; a world-writable file is always refused.
    /// - Returns: the file's bytes.
    /// - Throws: an error if the file is missing, empty, not a regular file, larger than 1 MiB, or world-readable.
    package func bytes(
        at path: String,
        for key: String,
        isSecret: ([UInt8]) -> Bool = { _ in true }
    ) throws(ConfigurationError) -> [UInt8] {
        let real = Self.resolved(path)
        do {
            let attributes = try FileManager.default.attributesOfItem(atPath: real)
            let permissions = (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0o777
            guard attributes[.type] as? FileAttributeType == .typeRegular else {
                throw refusal(path, key, "is not a regular file", Self.content)
            }
            let isGuarded = permissions & 0o007 == 0 || guarded.contains(where: { real.hasPrefix($0 + "/") })
            let mode = String(permissions, radix: 8)
            guard isGuarded || permissions & 0o002 == 0 else {
                throw refusal(path, key, "may be written by everybody (mode \(mode))", "Run: chmod o= \(path)")
            }
            guard let size = (attributes[.size] as? NSNumber)?.intValue, size <= 1 << 20 else {
                throw refusal(path, key, "is larger than 1 MiB", Self.content)
            }
            let data = try Data(contentsOf: URL(fileURLWithPath: real))
            guard !data.isEmpty else { throw refusal(path, key, "is empty", Self.content) }
            let bytes = Array(data)
            guard isGuarded || !isSecret(bytes) else {
                throw refusal(path, key, "may be read by everybody (mode \(mode))", "Run: chmod o= \(path)")
            }
            return bytes
        } catch let error as ConfigurationError {
            throw error
        } catch {
            guard FileManager.default.fileExists(atPath: real) else {
                let mend = "Check the path; a relative one starts at the configuration file."
                throw refusal(path, key, "there is no such file", mend)
            }
            let mend = "Give the user that runs fanfare read permission."
            throw refusal(path, key, "may not be read by this user", mend)
        }
    }

    private static let content = "Name the file that holds the password, and nothing else."

    private func refusal(_ path: String, _ key: String, _ reason: String, _ mend: String) -> ConfigurationError {
        ConfigurationError([ConfigurationProblem(origin: .file(path, nil), key: key, reason: reason)], mend: mend)
    }

    private static func resolved(_ path: String) -> String {
        URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    }
}
