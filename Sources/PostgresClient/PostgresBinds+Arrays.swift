// The binary form of an array (array_send in the server): number of dimensions, whether there are NULLs, the element
// type; for each dimension its length and lower bound; for each element its length (-1 for NULL) and bytes.
// An empty array has no dimension.
extension PostgresBinds {
    mutating func appendArray<Element: BinaryEncodable>(_ values: [Element]?) {
        guard let values else { return appendNull(Element.arrayType) }
        let size = values.reduce(0) { $0 + 4 + $1.binarySize }
        unsafe append(Element.arrayType, size: ArrayHeader.size(count: values.count) + size) { target in
            var rest = unsafe ArrayHeader.write(Element.type, count: values.count, hasNulls: false, to: target)
            for value in values {
                unsafe writeElement(value, to: &rest)
            }
        }
    }

    mutating func appendArray<Element: BinaryEncodable>(withNulls values: [Element?]) {
        let size = values.reduce(0) { $0 + 4 + ($1?.binarySize ?? 0) }
        unsafe append(Element.arrayType, size: ArrayHeader.size(count: values.count) + size) { target in
            let hasNulls = values.contains { $0 == nil }
            var rest = unsafe ArrayHeader.write(Element.type, count: values.count, hasNulls: hasNulls, to: target)
            for value in values {
                if let value {
                    unsafe writeElement(value, to: &rest)
                } else {
                    unsafe Int32(-1).encode(into: rest)
                    unsafe rest = UnsafeMutableRawBufferPointer(rebasing: rest[4...])
                }
            }
        }
    }
}

/// Writes one element with its length and moves `rest` behind it.
private func writeElement<Element: BinaryEncodable>(_ value: Element, to rest: inout UnsafeMutableRawBufferPointer) {
    let size = value.binarySize
    unsafe Int32(size).encode(into: rest)
    unsafe value.encode(into: UnsafeMutableRawBufferPointer(rebasing: rest[4..<4 + size]))
    unsafe rest = UnsafeMutableRawBufferPointer(rebasing: rest[(4 + size)...])
}

/// The header of an array's binary form.
enum ArrayHeader {
    static func size(count: Int) -> Int { count == 0 ? 12 : 20 }

    /// Writes the header.
    ///
    /// - Returns: the rest of `target`.
    static func write(
        _ type: PostgresType,
        count: Int,
        hasNulls: Bool,
        to target: UnsafeMutableRawBufferPointer
    ) -> UnsafeMutableRawBufferPointer {
        precondition(count <= Int32.max, "an array of \(count) elements is larger than PostgreSQL takes")
        unsafe target.storeBytes(of: Int32(count == 0 ? 0 : 1).bigEndian, as: Int32.self)
        unsafe target.storeBytes(of: Int32(hasNulls ? 1 : 0).bigEndian, toByteOffset: 4, as: Int32.self)
        unsafe target.storeBytes(of: type.rawValue.bigEndian, toByteOffset: 8, as: UInt32.self)
        guard count > 0 else { return unsafe UnsafeMutableRawBufferPointer(rebasing: target[12...]) }
        unsafe target.storeBytes(of: Int32(count).bigEndian, toByteOffset: 12, as: Int32.self)
        unsafe target.storeBytes(of: Int32(1).bigEndian, toByteOffset: 16, as: Int32.self)
        return unsafe UnsafeMutableRawBufferPointer(rebasing: target[20...])
    }
}
