import Foundation

/// Reads and writes the small files of a sandbox's folder.
struct FolderFiles {
    let path: String

    func makeDirectory() throws {
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw SandboxError(
                .folder,
                "cannot make the folder \(path): \(error.localizedDescription); choose another with --dir"
            )
        }
    }

    /// Returns the file's text, or nil if there is no such file.
    func read(_ name: String) throws -> String? {
        guard FileManager.default.fileExists(atPath: path + "/" + name) else { return nil }
        do {
            return try String(contentsOfFile: path + "/" + name, encoding: .utf8)
        } catch {
            throw SandboxError(
                .folder,
                "cannot read \(path)/\(name): \(error.localizedDescription); make it readable or remove it"
            )
        }
    }

    /// Replaces a file atomically, so that a reader never sees a part of it; a secret is readable by its owner only.
    func write(_ text: String, to name: String, secret: Bool = false) throws {
        try write(Data(text.utf8), to: name, secret: secret)
    }

    func write(_ content: Data, to name: String, secret: Bool = false) throws {
        let file = path + "/" + name
        let fresh = file + ".new"
        try? FileManager.default.removeItem(atPath: fresh)
        // Mode first, content afterwards: a key is never readable by others.
        let made = FileManager.default.createFile(
            atPath: fresh,
            contents: nil,
            attributes: [.posixPermissions: secret ? 0o600 : 0o644]
        )
        do {
            guard made else { throw CocoaError(.fileWriteUnknown) }
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: fresh))
            try handle.write(contentsOf: content)
            try handle.close()
            if FileManager.default.fileExists(atPath: file) {
                try FileManager.default.removeItem(atPath: file)
            }
            try FileManager.default.moveItem(atPath: fresh, toPath: file)
        } catch {
            throw SandboxError(.folder, "cannot write \(file): \(error.localizedDescription)")
        }
    }

    func write(_ identity: CertificateAuthority.Identity, certificate: String, key: String) throws {
        try write(identity.key + "\n", to: key, secret: true)
        try write(identity.certificate + "\n", to: certificate)
    }

    /// Reads a key, or creates and stores it if the file is missing.
    ///
    /// - Parameters:
    ///   - name: the file's name.
    ///   - kind: a description of its content, for the error.
    ///   - parse: parses the text.
    ///   - make: creates a key and its text.
    /// - Returns: the key.
    /// - Throws: `SandboxError` naming the file.
    func key<Key>(
        _ name: String,
        kind: String,
        parse: (String) -> Key?,
        make: () throws -> (key: Key, text: String)
    ) throws -> Key {
        if let text = try read(name) {
            guard let key = parse(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
                throw SandboxError(
                    .folder,
                    "\(path)/\(name) is not a \(kind); remove it to have a new one made"
                )
            }
            return key
        }
        let made = try make()
        try write(made.text + "\n", to: name, secret: true)
        return made.key
    }

    /// Reads an identity from two files, or creates and stores it if a file is missing or the identity is not usable.
    func identity(
        certificate: String,
        key: String,
        isUsable: (CertificateAuthority.Identity) -> Bool = { _ in true },
        make: () throws -> CertificateAuthority.Identity
    ) throws -> CertificateAuthority.Identity {
        if let certificateText = try read(certificate), let keyText = try read(key) {
            let stored = CertificateAuthority.Identity(certificate: certificateText, key: keyText)
            if isUsable(stored) { return stored }
        }
        let identity = try make()
        try write(identity, certificate: certificate, key: key)
        return identity
    }
}
