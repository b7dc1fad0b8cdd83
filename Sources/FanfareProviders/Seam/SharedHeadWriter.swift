internal import PushCrypto
internal import PushTransport

/// Writes requests to a provider with one endpoint: all devices of a variant share the header block and the body,
/// except for path, delivery id and insertion.
final class SharedHeadWriter: RequestWriter {
    private let cache = HeadCache()

    func write(
        tag: UInt64,
        _ delivery: PreparedDelivery,
        content: PushContent,
        heads: VariantHeads,
        credential: Credential
    ) throws(RequestProblem) -> PushRequest {
        guard case .shared(let path, let insertion) = delivery.address else { throw RequestProblem("it has no path") }
        return try RequestProblem.refusing { () throws(HeaderError) in
            let head = try heads.head(delivery.variant, generation: credential.generation) { () throws(HeaderError) in
                try cache.block(content.push, credential: credential)
            }
            return try PushRequest(
                tag: tag,
                path: path,
                head: head,
                varyingValue: delivery.deliveryID,
                body: content.body,
                insertion: insertion
            )
        }
    }
}

/// The last header block of a sender.
///
/// Events of one rule mostly have the same fields, and checking and preparing a block costs as much as sending a push.
final class HeadCache {
    private var headers: [(name: String, value: String)] = []
    private var varyingName: String?
    private var generation = 0
    private var block: HeaderBlock?

    /// Returns the block for a message's fields and a credential.
    func block(_ push: RenderedPush, credential: Credential) throws(HeaderError) -> HeaderBlock {
        let varying = push.deliveryHeader?.name
        if let block, generation == credential.generation, varyingName == varying,
            push.headers.elementsEqual(headers, by: ==)
        {
            return block
        }
        var fields: [HeaderField] = []
        for header in push.headers { fields.append(try HeaderField(header.name, header.value)) }
        fields.append(try HeaderField("content-type", "application/json"))
        if let authorization = credential.authorization {
            fields.append(try HeaderField("authorization", authorization))
        }
        let fresh = try HeaderBlock(fields, varyingName: varying)
        (headers, varyingName, generation, block) = (push.headers, varying, credential.generation, fresh)
        return fresh
    }
}
