internal import FanfareStore

/// What was read for a hook, and how far that goes.
struct FeedbackSlice {
    private(set) var items: [FeedbackItem] = []
    /// Where it ends.
    private(set) var end: FeedbackPlace
    /// Whether there may be more right behind it.
    private(set) var hasMore: Bool
    private var lostNumbers: [Int64] = []

    /// How many batches of it the log has no more.
    var lost: Int64 { Int64(lostNumbers.count { $0 <= end.number }) }

    /// Takes rows apart.
    ///
    /// - Parameters:
    ///   - rows: in order.
    ///   - place: where it ends if there are none.
    ///   - isFixed: whether it ends there whatever there is.
    init(_ rows: [FeedbackRow], before place: FeedbackPlace, isFixed: Bool) {
        end = place
        var numbers: Set<Int64> = []
        for row in rows {
            switch row {
            case .item(let item):
                items.append(item)
                numbers.insert(item.place.number)
                if !isFixed { end = item.place }
            case .nothing(let number), .lost(let number):
                if case .lost = row { lostNumbers.append(number) }
                numbers.insert(number)
                if !isFixed { end = FeedbackPlace(number: number) }
            }
        }
        let isCut = rows.count >= ReadFeedback.limit
        hasMore = isCut || numbers.count >= ReadFeedback.batches
        // Of a batch that was not cut all was read.
        if !isCut && !isFixed { end = FeedbackPlace(number: end.number) }
    }

    /// Leaves out what does not fit.
    ///
    /// - Parameter count: how many items do.
    mutating func cut(to count: Int) {
        guard count < items.count else { return }
        items.removeLast(items.count - count)
        end = items[count - 1].place
        hasMore = true
    }
}
