import Foundation
import Programs
import TestKit
import Testing

/// A TLS listener before a port of this machine, which makes a proxy one that is reached by https.
struct TLSFront {
    let port: Int
    let caFile: String
    private let process: ProgramProcess
    private let folder: String

    /// Copies bytes both ways between TLS clients and a port; prints its own port first.
    private static let program = """
        import socket, ssl, sys, threading
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(sys.argv[1] + "/cert.pem", sys.argv[1] + "/key.pem")
        tls.set_alpn_protocols(["h2", "http/1.1"])
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1], flush=True)
        def copy(source, target):
            try:
                while data := source.recv(65536): target.sendall(data)
            except OSError: pass
            for end in (source, target):
                try: end.shutdown(socket.SHUT_RDWR)
                except OSError: pass
        def serve(plain):
            try: client = tls.wrap_socket(plain, server_side=True)
            except OSError: return plain.close()
            if client.selected_alpn_protocol() == "h2": return client.close()
            server = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
            threading.Thread(target=copy, args=(server, client), daemon=True).start()
            copy(client, server)
        while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """

    /// Runs a test behind a new listener.
    static func with(port: UInt16, _ body: (TLSFront) async throws -> Void) async throws {
        let folder = NSTemporaryDirectory() + "fanfare-front-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await OpenSSL.run([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-keyout", folder + "/key.pem", "-out", folder + "/cert.pem",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
        ])
        let process = try await ProgramProcess("/usr/bin/env", ["python3", "-c", program, folder, "\(port)"])
        var lines = process.output.makeAsyncIterator()
        let first = await lines.next()
        do {
            let port = try #require(first.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) })
            try await body(TLSFront(port: port, caFile: folder + "/cert.pem", process: process, folder: folder))
        } catch {
            await process.stop()
            throw error
        }
        await process.stop()
    }
}
