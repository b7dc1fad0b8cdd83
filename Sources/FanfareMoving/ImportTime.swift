internal import FanfareLogging

/// Reads the time formats of other systems.
enum ImportTime {
    /// Converts a time to a form that PostgreSQL reads.
    ///
    /// - Parameter text: seconds or milliseconds since 1970; or a date, optionally with a time of day and a zone, in
    ///   the form of ISO 8601 or with spaces and `UTC`. Without a zone it is UTC.
    /// - Returns: the time in the form of RFC 3339; nil if the text is not a time.
    static func normalized(_ text: String) -> String? {
        var reader = Reader(text: text)
        if let number = reader.wholeNumber() {
            let isMilliseconds = text.utf8.count > 11
            return LogTimestamp(microsecondsSince1970: number * (isMilliseconds ? 1000 : 1_000_000)).description
        }
        guard let year = reader.number(4), reader.take("-"), let month = reader.number(2), reader.take("-"),
            let day = reader.number(2), year > 0, (1...12).contains(month),
            (1...days(of: month, in: year)).contains(day)
        else { return nil }
        var (clock, fraction) = ("00:00:00", "")
        if !reader.isAtEnd, reader.take("T") || reader.peek(is: " ") && reader.peek(isDigitAfter: 1) && reader.take(" ")
        {
            guard let hour = reader.number(2), reader.take(":"), let minute = reader.number(2), hour < 24, minute < 60
            else { return nil }
            var second = 0
            if reader.take(":") {
                guard let read = reader.number(2), read < 60 else { return nil }
                second = read
                if reader.take(".") {
                    guard let digits = reader.digits() else { return nil }
                    fraction = ".\(digits.prefix(6))"
                }
            }
            clock = "\(two(hour)):\(two(minute)):\(two(second))"
        }
        _ = reader.take(" ")
        guard let zone = reader.zone(), reader.isAtEnd else { return nil }
        let padding = String(repeating: "0", count: 4 - "\(year)".utf8.count)
        return "\(padding)\(year)-\(two(month))-\(two(day))T\(clock)\(fraction)\(zone)"
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

    private static func days(of month: Int, in year: Int) -> Int {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Scans a text, without regular expressions, because a file may have millions of times.
    private struct Reader {
        let bytes: [UInt8]
        var index = 0

        init(text: String) {
            bytes = Array(text.utf8)
        }

        var isAtEnd: Bool { index == bytes.count }

        /// The whole text as seconds or milliseconds since 1970; nil if it is another form.
        func wholeNumber() -> Int64? {
            guard (9...14).contains(bytes.count), bytes.allSatisfy(Self.isDigit) else { return nil }
            return bytes.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        }

        mutating func number(_ count: Int) -> Int? {
            guard index + count <= bytes.count, bytes[index..<index + count].allSatisfy(Self.isDigit) else {
                return nil
            }
            defer { index += count }
            return bytes[index..<index + count].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }

        mutating func digits() -> String? {
            let found = bytes[index...].prefix(while: Self.isDigit)
            index += found.count
            return found.isEmpty ? nil : String(decoding: found, as: UTF8.self)
        }

        mutating func take(_ scalar: Unicode.Scalar) -> Bool {
            guard peek(is: scalar) else { return false }
            index += 1
            return true
        }

        func peek(is scalar: Unicode.Scalar) -> Bool { !isAtEnd && bytes[index] == UInt8(ascii: scalar) }

        func peek(isDigitAfter distance: Int) -> Bool {
            index + distance < bytes.count && Self.isDigit(bytes[index + distance])
        }

        mutating func zone() -> String? {
            if isAtEnd || take("Z") { return "Z" }
            let rest = bytes[index...]
            if rest.elementsEqual("UTC".utf8) || rest.elementsEqual("GMT".utf8) {
                index = bytes.count
                return "Z"
            }
            let sign = peek(is: "-") ? "-" : "+"
            guard take("+") || take("-"), let hours = number(2), hours < 16 else { return nil }
            guard !isAtEnd else { return "\(sign)\(ImportTime.two(hours)):00" }
            _ = take(":")
            guard let minutes = number(2), minutes < 60 else { return nil }
            return "\(sign)\(ImportTime.two(hours)):\(ImportTime.two(minutes))"
        }

        private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    }
}
