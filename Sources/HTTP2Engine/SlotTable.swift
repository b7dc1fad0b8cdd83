internal import PushTransport

/// All places for requests of one session, made once, and the requests in them.
@safe
final class SlotTable {
    /// What a taken slot keeps alive.
    struct Content {
        let request: PushRequest
        let headers: HeaderTable
    }

    let capacity: Int
    let slots: UnsafeMutablePointer<Slot>
    /// Initialised where the slot is not free.
    let contents: UnsafeMutablePointer<Content>
    private var free: [Int32]
    /// Indices of waiting slots, oldest first, from `waitingStart` on.
    private var waiting: [Int32] = []
    private var waitingStart = 0

    init(capacity: Int) {
        self.capacity = capacity
        unsafe slots = .allocate(capacity: capacity)
        unsafe contents = .allocate(capacity: capacity)
        free = (0..<Int32(capacity)).reversed()
        waiting.reserveCapacity(capacity)
        for index in 0..<capacity { unsafe (slots + index).initialize(to: Slot(index: Int32(index))) }
    }

    deinit {
        for index in 0..<capacity {
            if unsafe slots[index].stage != .free { unsafe (contents + index).deinitialize(count: 1) }
            unsafe slots[index].text.deallocate()
        }
        unsafe contents.deallocate()
        unsafe slots.deallocate()
    }

    /// How many requests are in it.
    var count: Int { capacity - free.count }

    /// How many of them nghttp2 does not know.
    var waitingCount: Int { waiting.count - waitingStart }

    /// Puts a request in; the caller has looked that there is room.
    func put(_ request: PushRequest, _ headers: HeaderTable, submittedAt: MonotonicTime) {
        guard let index = free.popLast() else { preconditionFailure("more requests than slots") }
        unsafe slots[Int(index)].begin(request, submittedAt: submittedAt)
        unsafe (contents + Int(index)).initialize(to: Content(request: request, headers: headers))
        waiting.append(index)
    }

    /// Takes the oldest waiting slot out of the row.
    func nextWaiting() -> UnsafeMutablePointer<Slot>? {
        guard waitingStart < waiting.count else { return nil }
        let slot = unsafe slots + Int(waiting[waitingStart])
        waitingStart += 1
        if waitingStart == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            waitingStart = 0
        }
        return unsafe slot
    }

    /// Takes the newest waiting request out of the table.
    func takeBack() -> (request: PushRequest, submittedAt: MonotonicTime)? {
        guard waitingStart < waiting.count, let index = waiting.popLast() else { return nil }
        if waitingStart == waiting.count {
            waiting.removeAll(keepingCapacity: true)
            waitingStart = 0
        }
        let submittedAt = unsafe slots[Int(index)].submittedAt
        let content = unsafe (contents + Int(index)).move()
        unsafe slots[Int(index)].stage = .free
        free.append(index)
        return (content.request, submittedAt)
    }

    /// Ends a request that is not in the row of those that wait.
    func release(_ index: Int32) {
        unsafe (contents + Int(index)).deinitialize(count: 1)
        unsafe slots[Int(index)].stage = .free
        free.append(index)
    }
}
