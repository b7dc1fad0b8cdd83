internal import PushTransport

/// All places for requests of one session, made once, and the requests in them.
@safe
final class SlotTable {
    let capacity: Int
    let slots: UnsafeMutablePointer<Slot>
    /// Initialised where the slot is not free.
    let requests: UnsafeMutablePointer<PushRequest>
    private var free: [Int32]
    /// Indices of waiting slots, oldest first, from `waitingStart` on.
    private var waiting: [Int32] = []
    private var waitingStart = 0

    init(capacity: Int) {
        self.capacity = capacity
        unsafe slots = .allocate(capacity: capacity)
        unsafe requests = .allocate(capacity: capacity)
        free = (0..<Int32(capacity)).reversed()
        waiting.reserveCapacity(capacity)
        for index in 0..<capacity { unsafe (slots + index).initialize(to: Slot(index: Int32(index))) }
    }

    deinit {
        for index in 0..<capacity {
            if unsafe slots[index].stage != .free { unsafe (requests + index).deinitialize(count: 1) }
        }
        unsafe requests.deallocate()
        unsafe slots.deallocate()
    }

    /// How many requests are in it.
    var count: Int { capacity - free.count }

    /// How many of them nghttp2 does not know.
    var waitingCount: Int { waiting.count - waitingStart }

    /// Puts a request in; the caller has looked that there is room.
    func put(_ request: PushRequest, submittedAt: MonotonicTime) {
        guard let index = free.popLast() else { preconditionFailure("more requests than slots") }
        unsafe slots[Int(index)].begin(request, submittedAt: submittedAt)
        unsafe (requests + Int(index)).initialize(to: request)
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
        let request = unsafe (requests + Int(index)).move()
        unsafe slots[Int(index)].stage = .free
        free.append(index)
        return (request, submittedAt)
    }

    /// Ends a request that is not in the row of those that wait.
    func release(_ index: Int32) {
        unsafe (requests + Int(index)).deinitialize(count: 1)
        unsafe slots[Int(index)].stage = .free
        free.append(index)
    }
}
