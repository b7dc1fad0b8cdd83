internal import Hummingbird
internal import NIOCore

/// The connection that a request arrived on.
struct ConnectionContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        (coreContext, channel) = (.init(source: source), source.channel)
    }
}
