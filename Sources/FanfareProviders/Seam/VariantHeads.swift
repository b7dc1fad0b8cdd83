package import PushTransport

/// The header blocks of a batch's variants, made once per credential and origin.
///
/// Used by one sender thread.
package final class VariantHeads {
    private struct Place: Hashable {
        let origin: Endpoint
        let variant: Int32
    }

    private var heads: [HeaderBlock?]
    private var originHeads: [Place: HeaderBlock] = [:]
    private var generation = -1

    /// - Parameter count: the number of variants.
    package init(count: Int) {
        heads = Array(repeating: nil, count: count)
    }

    /// Returns the header block of a variant.
    ///
    /// - Parameters:
    ///   - variant: the variant's index.
    ///   - generation: the generation of the credential to use.
    ///   - origin: the request's origin; nil for the provider's only endpoint.
    ///   - make: makes the block.
    /// - Returns: the block, shared with other deliveries.
    /// - Throws: an error for a field that cannot be sent.
    package func head(
        _ variant: Int32,
        generation: Int,
        origin: Endpoint? = nil,
        make: () throws(HeaderError) -> HeaderBlock
    ) throws(HeaderError) -> HeaderBlock {
        if self.generation != generation {
            self.generation = generation
            heads = Array(repeating: nil, count: heads.count)
            originHeads = [:]
        }
        guard let origin else {
            if let head = heads[Int(variant)] { return head }
            let head = try make()
            heads[Int(variant)] = head
            return head
        }
        let place = Place(origin: origin, variant: variant)
        if let head = originHeads[place] { return head }
        let head = try make()
        originHeads[place] = head
        return head
    }
}
