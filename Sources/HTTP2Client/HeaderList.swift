internal import CCurl
internal import PushTransport

/// A header block in libcurl's form, made once and shared by all requests that use the block.
///
/// The list is a tail: each request puts one node of its own in front, with the line that varies, so that no list is
/// built per request. libcurl only reads header lists.
@safe
final class HeaderList {
    /// Keeps the block's identity from being reused while the list is in a cache.
    let block: HeaderBlock

    /// The shared nodes.
    let tail: UnsafeMutablePointer<curl_slist>?

    /// `name: ` of the line that varies; empty if none does.
    let varyingPrefix: [UInt8]

    /// Makes the list.
    init(_ block: HeaderBlock) {
        self.block = block
        varyingPrefix = block.varyingName.map { Array("\($0): ".utf8) } ?? []
        // libcurl adds these two of itself to a POST; a line without a value takes them away.
        let unwanted = ["accept", "content-type"].filter { name in
            name != block.varyingName && !block.fields.contains { $0.name == name }
        }
        var lines = unwanted.map { "\($0):" }
        // `name;` is libcurl's way to send a field with an empty value.
        lines += block.fields.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        unsafe tail = lines.reduce(nil as UnsafeMutablePointer<curl_slist>?) { list, line in
            unsafe curl_slist_append(list, line) ?? list
        }
    }

    deinit { unsafe curl_slist_free_all(tail) }
}
