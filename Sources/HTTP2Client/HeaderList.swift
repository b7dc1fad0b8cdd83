internal import CCurl
internal import PushTransport

/// A header block as a libcurl list, built once and shared by all requests with the block.
///
/// The list is a tail: each request prepends one node with the line that varies, so that no list is built per request.
/// libcurl only reads header lists.
@safe
final class HeaderList {
    /// Retained so that the block's identity is not reused while the list is in a cache.
    let block: HeaderBlock

    /// The shared nodes.
    let tail: UnsafeMutablePointer<curl_slist>?

    /// The varying field's name and `: `; empty if no field varies.
    let varyingPrefix: [UInt8]

    /// Makes the list.
    init(_ block: HeaderBlock) {
        self.block = block
        varyingPrefix = block.varyingName.map { Array("\($0): ".utf8) } ?? []
        // libcurl adds these two fields to a POST by itself; a line without a value suppresses them.
        let unwanted = ["accept", "content-type"].filter { name in
            name != block.varyingName && !block.fields.contains { $0.name == name }
        }
        var lines = unwanted.map { "\($0):" }
        // libcurl sends a field with an empty value for `name;`.
        lines += block.fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        unsafe tail = lines.reduce(nil as UnsafeMutablePointer<curl_slist>?) { list, line in
            unsafe curl_slist_append(list, line) ?? list
        }
    }

    deinit { unsafe curl_slist_free_all(tail) }
}
