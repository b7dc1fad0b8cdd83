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

    /// The file's text, or nil if there is no such file.
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

    /// Replaces a file as a whole, so that a reader never sees half of it; a secret is readable by its owner only.
    func write(_ text: String, to name: String, secret: Bool = false) throws {
        let file = path + "/" + name
        let fresh = file + ".new"
        try? FileManager.default.removeItem(atPath: fresh)
        // Mode first, content afterwards: a key is never readable by others, not even for a moment.
        let made = FileManager.default.createFile(
            atPath: fresh,
            contents: nil,
            attributes: [.posixPermissions: secret ? 0o600 : 0o644]
        )
        do {
            guard made else { throw CocoaError(.fileWriteUnknown) }
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: fresh))
            try handle.write(contentsOf: Data(text.utf8))
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

    /// The identity stored under two names, made and stored if either file is missing.
    func identity(
        certificate: String,
        key: String,
        make: () throws -> CertificateAuthority.Identity
    ) throws -> CertificateAuthority.Identity {
        if let certificateText = try read(certificate), let keyText = try read(key) {
            return CertificateAuthority.Identity(certificate: certificateText, key: keyText)
        }
        let identity = try make()
        try write(identity, certificate: certificate, key: key)
        return identity
    }
}
