internal import CPostgres
internal import Threading

/// One of the servers that a URL names.
struct PostgresServer: Sendable, Equatable {
    let host: String
    /// Its `hostaddr`; empty if the host name is resolved.
    let address: String
    let port: String

    /// Parses libpq's lists, which have the same length, except that one port may apply to all hosts.
    static func list(hosts: String, addresses: String, ports: String) -> [PostgresServer] {
        func parts(_ list: String) -> [String] {
            list.isEmpty ? [] : list.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        let (hosts, addresses, ports) = (parts(hosts), parts(addresses), parts(ports))
        return (0..<max(hosts.count, addresses.count)).map { index in
            let port = ports.count > 1 ? (index < ports.count ? ports[index] : "") : ports.first ?? ""
            return PostgresServer(
                host: index < hosts.count ? hosts[index] : "",
                address: index < addresses.count ? addresses[index] : "",
                port: port.isEmpty ? "5432" : port
            )
        }
    }
}

extension PostgresConnection {
    /// Opens a session with the server on the highest timeline among those that accept writes.
    ///
    /// - Parameters:
    ///   - options: where and how to connect.
    ///   - timelines: the timelines of earlier sessions.
    ///   - stop: ends the attempt.
    /// - Returns: a session.
    /// - Throws: as ``open(_:stop:)``; `wrongDatabase` if all servers that answer are on lower timelines than an
    ///   earlier session.
    static func openNewest(
        _ options: PostgresOptions,
        _ timelines: PostgresTimelines,
        stop: WakeSignal?
    ) throws(PostgresError) -> PostgresConnection {
        var newest: PostgresConnection
        do throws(PostgresError) {
            newest = try connect(options, stop: stop)
        } catch {
            timelines.forget()
            throw error
        }
        guard var here = newest.timeline else { return newest }
        let servers = timelines.isSettled(here) ? [] : newest.otherServers
        var others: [PostgresTimeline] = []
        for server in servers {
            guard let other = try session(with: server, options, stop: stop) else { continue }
            guard let there = other.timeline, there.isBeside(here) else { continue }
            if there.number > here.number {
                others.append(here)
                (newest, here) = (other, there)
            } else {
                others.append(there)
            }
        }
        try timelines.enter(here)
        if !servers.isEmpty { timelines.looked(PostgresSplit(used: here, others: others)) }
        return newest
    }

    /// Opens a session with one of the servers; nil if it cannot be reached or accepts no writes.
    private static func session(
        with server: PostgresServer,
        _ options: PostgresOptions,
        stop: WakeSignal?
    ) throws(PostgresError) -> PostgresConnection? {
        do throws(PostgresError) {
            return try connect(options.looking(at: server), stop: stop)
        } catch {
            guard error.code != .cancelled else { throw error }
            return nil
        }
    }

    /// The servers named by the URL, environment and service file, except the one of this session.
    private var otherServers: [PostgresServer] {
        guard let handle = try? unsafe requireHandle(), let settings = unsafe PQconninfo(handle) else { return [] }
        defer { unsafe PQconninfoFree(settings) }
        var values: [String: String] = [:]
        var next = unsafe settings
        while let keyword = unsafe next.pointee.keyword {
            let name = unsafe String(cString: keyword)
            if ["host", "hostaddr", "port"].contains(name), let value = unsafe next.pointee.val {
                unsafe values[name] = String(cString: value)
            }
            unsafe next += 1
        }
        let servers = PostgresServer.list(
            hosts: values["host"] ?? "",
            addresses: values["hostaddr"] ?? "",
            ports: values["port"] ?? ""
        )
        let host = unsafe PQhost(handle).map { unsafe String(cString: $0) }
        let port = unsafe PQport(handle).map { unsafe String(cString: $0) }
        return servers.count > 1 ? servers.filter { $0.host != host || $0.port != port } : []
    }
}
