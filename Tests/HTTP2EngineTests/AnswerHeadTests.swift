import Testing

@testable import HTTP2Engine

/// The header of a proxy's answer to CONNECT, as far as it is read.
struct AnswerHeadTests {
    /// Returns the first result that is not "incomplete", and the number of bytes until then.
    private func read(_ text: String) -> (progress: AnswerHead.Progress, count: Int) {
        var head = AnswerHead()
        for (index, byte) in text.utf8.enumerated() {
            let progress = head.take(byte)
            if progress != .incomplete { return (progress, index + 1) }
        }
        return (.incomplete, text.utf8.count)
    }

    @Test(arguments: [
        ("HTTP/1.1 200 Connection established\r\n\r\n", 200), ("HTTP/1.0 200\r\n\r\n", 200),
        ("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\n\r\n", 407),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 \r\nA: b\r\n\r\n", 204),
    ])
    func theFinalStatusIsRead(_ text: String, _ status: Int) {
        let (progress, count) = read(text + "more")
        #expect(progress == .status(status) && count == text.utf8.count, "what follows is the endpoint's")
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 \u{0661}00\r\n\r\n", "HTTP/1.1 099 No\r\n\r\n", "\r\n\r\n",
    ])
    func anythingElseIsMalformed(_ text: String) {
        #expect(read(text).progress == .malformed)
    }

    @Test func itIsBounded() {
        let endless = "HTTP/1.1 200 OK\r\n" + String(repeating: "A: b\r\n", count: Tunnel.headLimit)
        let (progress, count) = read(endless)
        #expect(progress == .malformed && count == Tunnel.headLimit + 1)
        let interim = String(repeating: "HTTP/1.1 100 Wait\r\n\r\n", count: Tunnel.headLimit)
        #expect(read(interim).progress == .malformed)
        #expect(read("HTTP/1.1 200 OK\r\n").progress == .incomplete)
    }
}
