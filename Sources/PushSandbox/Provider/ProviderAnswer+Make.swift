extension ProviderAnswer {
    /// Creates a response with a JSON body, with Google's content type.
    static func json(_ status: Int, reason: String? = nil, _ body: String) -> ProviderAnswer {
        ProviderAnswer(
            status: status,
            reason: reason,
            headers: [(name: "content-type", value: "application/json; charset=UTF-8")],
            body: body
        )
    }

    /// Creates an HTML page, as load balancers respond with.
    static func page(_ status: Int, reason: String? = nil, _ text: String) -> ProviderAnswer {
        raw(status, reason: reason, "<!DOCTYPE html>\n<html lang=en>\n<title>Error \(status)</title>\n<p>\(text)\n")
    }

    /// Creates a response with a given body; its first character decides the content type.
    static func raw(_ status: Int, reason: String? = nil, _ body: String) -> ProviderAnswer {
        let type =
            switch body.utf8.first {
            case UInt8(ascii: "{"): "application/json; charset=UTF-8"
            case UInt8(ascii: "<"): "text/html; charset=UTF-8"
            default: "text/plain; charset=UTF-8"
            }
        return ProviderAnswer(
            status: status,
            reason: reason,
            headers: body.isEmpty ? [] : [(name: "content-type", value: type)],
            body: body
        )
    }

    /// Returns the response with more header fields.
    func adding(_ fields: [(name: String, value: String)]) -> ProviderAnswer {
        var copy = self
        copy.headers += fields
        return copy
    }
}

extension StatusFault {
    /// The header fields that a fault adds for any service.
    var headers: [(name: String, value: String)] {
        [("retry-after", retryAfter), ("location", location)].compactMap { name, value in
            value.map { (name: name, value: $0) }
        }
    }
}
