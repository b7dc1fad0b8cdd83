internal import Foundation
internal import PushTransport

extension Configuration {
    /// Reads a configuration from defaults, file, environment and flags; a later source overrides an earlier one.
    ///
    /// Files named in it (keys, passwords, CAs) are not opened here; the code that uses them reads them, again at each
    /// reload.
    ///
    /// - Parameters:
    ///   - file: path of the YAML file; nil for none.
    ///   - environment: variables of the process: `FANFARE_LOG__LEVEL` for `log.level`, and `DATABASE_URL`.
    ///   - flags: values from the command line by dotted path, such as `log.level`.
    ///   - schema: the known keys.
    ///   - readsFiles: whether files other than the database's are opened later; if not, their paths may contain unset
    ///     variables.
    /// - Returns: the checked configuration; ``warnings(_:)`` returns its warnings.
    /// - Throws: all problems at once, each with its place.
    package static func load(
        file: String?,
        environment: [String: String],
        flags: [String: String],
        schema: ConfigurationSchema,
        readsFiles: Bool = true
    ) throws(ConfigurationError) -> Configuration {
        let current = FileManager.default.currentDirectoryPath
        guard let file else {
            return try parse(
                nil,
                named: "",
                directory: current,
                environment: environment,
                flags: flags,
                schema: schema,
                readsFiles: readsFiles
            )
        }
        let absolute = file.hasPrefix("/") ? file : "\(current)/\(file)"
        let yaml: String
        do {
            yaml = try String(contentsOfFile: absolute, encoding: .utf8)
        } catch {
            let (reason, mend) = Self.problem(ofUnreadable: absolute)
            throw ConfigurationError([.init(origin: .file(file, nil), key: "", reason: reason)], mend: mend)
        }
        let directory = (absolute as NSString).deletingLastPathComponent
        return try parse(
            yaml,
            named: file,
            directory: directory,
            environment: environment,
            flags: flags,
            schema: schema,
            readsFiles: readsFiles
        )
    }

    /// Reads a configuration from a text, for a file that does not exist yet.
    ///
    /// - Parameters:
    ///   - yaml: the text; nil for none.
    ///   - name: the file's name in messages.
    ///   - directory: absolute path that relative paths are resolved against.
    ///   - environment: variables of the process.
    ///   - flags: values from the command line by dotted path.
    ///   - schema: the known keys.
    ///   - readsFiles: as for ``load(file:environment:flags:schema:readsFiles:)``.
    /// - Returns: the checked configuration; ``warnings(_:)`` returns its warnings.
    /// - Throws: all problems at once, each with its place.
    package static func parse(
        _ yaml: String?,
        named name: String,
        directory: String,
        environment: [String: String],
        flags: [String: String],
        schema: ConfigurationSchema,
        readsFiles: Bool = true
    ) throws(ConfigurationError) -> Configuration {
        var reader = ConfigurationReader(schema)
        if let yaml { reader.read(yaml: yaml, named: name) }
        reader.read(environment: environment)
        reader.read(flags: flags)

        var configuration = Configuration()
        configuration.file = yaml == nil ? nil : name
        configuration.databaseOrigin = reader.settings[["database", "url"]]?.origin ?? .absent
        var place = ConfigurationPlace(directory: directory, environment: environment)
        for (path, setting) in reader.settings {
            guard let key = schema.key(at: path) else { continue }
            place.leavesVariables = !readsFiles && path.first != "database"
            do throws(ConfigurationValueError) {
                try key.store(&configuration, userName(in: path, of: key), setting.text, place)
            } catch {
                reader.report(setting.origin(ofElement: error.element), path.joined(separator: "."), error.reason)
            }
        }
        configuration.send.joinProxy(&reader, environment: environment)
        reportMissing(in: &reader, schema, file: yaml == nil ? nil : name)
        guard reader.problems.isEmpty else { throw ConfigurationError(reader.problems) }
        return configuration
    }

    private static func userName(in path: [String], of key: ConfigurationKey) -> String {
        key.path.firstIndex(of: ConfigurationKey.anyName).map { path[$0] } ?? ""
    }

    /// Reports required keys that are not set, and apps without a provider.
    private static func reportMissing(
        in reader: inout ConfigurationReader,
        _ schema: ConfigurationSchema,
        file: String?
    ) {
        for (section, origin) in reader.sections where section.first == "apps" {
            switch section.count {
            case 2:
                let providers = schema.blocks.map(\.name)
                guard !providers.contains(where: { reader.sections[section + [$0]] != nil }) else { continue }
                let known = providers.map { "`\($0)`" }.joined(separator: ", ")
                reader.report(origin, section.joined(separator: "."), "has no provider; known here: \(known)")
            case 3:
                for name in schema.children(of: section) {
                    let path = section + [name]
                    guard schema.key(at: path)?.presence == .required, reader.settings[path] == nil
                    else { continue }
                    reader.report(origin, path.joined(separator: "."), "is required")
                }
                schema.blocks.first { $0.name == section[2] }?.check(section, origin, &reader)
            default: continue
            }
        }
        for (section, origin) in reader.sections where section.first == "feedback" && section.count == 2 {
            Feedback.check(section, origin, &reader)
        }
        for (one, other) in [("certificate_file", "key_file"), ("key_file", "certificate_file")] {
            guard let setting = reader.settings[["api", one]], reader.settings[["api", other]] == nil else { continue }
            reader.report(setting.origin, "api.\(other)", "is required beside api.\(one)")
        }
        if reader.settings[["database", "url"]] == nil {
            let place =
                file ?? "a configuration file (none was named, and neither \(ConfigurationFile.places[0]) nor "
                + "\(ConfigurationFile.places[1]) is there)"
            reader.report(
                .absent,
                "database.url",
                "is required; set it in \(place), by DATABASE_URL or by --database-url"
            )
        }
    }

    private static func problem(ofUnreadable path: String) -> (reason: String, mend: String) {
        switch UnreadableFile(path) {
        case .missing: ("there is no such file", ConfigurationFile.mend)
        case .folder: ("is a folder", "Name the file in it.")
        case .forbidden:
            ("may not be read by this user", "Give the user that runs fanfare read permission; it holds no secret.")
        case .other: ("cannot be read as a UTF-8 text file", "Save it as UTF-8.")
        }
    }
}

extension Configuration.Send {
    /// Adds the password to the proxy, and reports a user without a password or the reverse.
    fileprivate mutating func joinProxy(_ reader: inout ConfigurationReader, environment: [String: String]) {
        let key = "send.proxy_password_file"
        proxy?.password = proxyPasswordFile.map { path in
            ProxyPassword(file: path) { try PasswordFile(environment: environment).password(at: path, for: key) }
        }
        let (address, file) = (reader.settings[["send", "proxy"]], reader.settings[["send", "proxy_password_file"]])
        if let address, file == nil, proxy?.user != nil {
            reader.report(address.origin, key, "is required beside the user in send.proxy")
        } else if let file, proxy.map({ $0.user == nil }) ?? (address == nil) {
            reader.report(file.origin, key, "needs a user in send.proxy, as in http://USER@HOST:PORT")
        }
    }
}
