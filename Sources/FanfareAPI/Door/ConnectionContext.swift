internal import Hummingbird
internal import NIOCore

/// On which connection a request came.
struct ConnectionContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        (coreContext, channel) = (.init(source: source), source.channel)
    }
}
