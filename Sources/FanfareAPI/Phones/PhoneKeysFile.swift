internal import FanfareConfiguration
internal import FanfareTools

/// Reads the files with apps' keys.
enum PhoneKeysFile {
    /// Reads the key file of an app.
    ///
    /// - Parameters:
    ///   - settings: name the file.
    ///   - app: the app.
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    /// - Returns: the keys.
    /// - Throws: ``ToolError`` of kind `configuration`: what is wrong with the file, and how to fix it.
    static func read(
        _ settings: Configuration.Phones,
        app: String,
        environment: [String: String]
    ) throws(ToolError) -> PhoneKeySet {
        let (key, path) = ("apps.\(app).jwt.jwks_file", settings.keysFile ?? "")
        let bytes: [UInt8]
        do throws(ConfigurationError) {
            bytes = try PasswordFile(environment: environment).bytes(at: path, for: key) { !PhoneKeySet.isPublic($0) }
        } catch {
            throw ToolError(error)
        }
        do throws(PhoneKeyError) {
            return try PhoneKeySet(parsing: bytes)
        } catch {
            throw ToolError(.configuration, "\(key): \(path): \(error.reason)", hint: error.mend)
        }
    }
}
