internal import PushTransport

/// The slots of one session, allocated once, and the requests in them.
@safe
final class SlotTable {
    let capacity: Int
    let slots: UnsafeMutablePointer<Slot>
    /// Initialised at the index of each slot that is not free.
    let requests: UnsafeMutablePointer<PushRequest>
    private var free: [Int32]
    /// The indices of waiting slots, oldest first, from `waitingStart` on.
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

    /// The number of requests in the table.
    var count: Int { capacity - free.count }

    /// The number of requests that were not submitted to nghttp2.
    var waitingCount: Int { waiting.count - waitingStart }

    /// Stores a request; the caller has checked that there is room.
    func put(_ request: PushRequest, submittedAt: MonotonicTime) {
        guard let index = free.popLast() else { preconditionFailure("more requests than slots") }
        unsafe slots[Int(index)].begin(request, submittedAt: submittedAt)
        unsafe (requests + Int(index)).initialize(to: request)
        waiting.append(index)
    }

    /// Removes the oldest slot from the waiting ones and returns it.
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

    /// Removes the newest waiting request from the table.
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

    /// Frees a slot that is not among the waiting ones.
    func release(_ index: Int32) {
        unsafe (requests + Int(index)).deinitialize(count: 1)
        unsafe slots[Int(index)].stage = .free
        free.append(index)
    }
}
