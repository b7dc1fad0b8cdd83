internal import Synchronization

extension Atomic where Value == Int64 {
    /// Adds to the value, saturating at the largest `Int64`; `wrappingAdd` would continue with negative numbers.
    borrowing func add(_ amount: Int64) {
        var before = load(ordering: .relaxed)
        while true {
            let sum = before.addingCapped(amount)
            let (isChanged, found) = weakCompareExchange(expected: before, desired: sum, ordering: .relaxed)
            if isChanged { return }
            before = found
        }
    }
}

extension Atomic where Value == Double {
    /// Adds to the value, saturating at the largest finite number.
    borrowing func add(_ amount: Double) {
        var before = load(ordering: .relaxed)
        while true {
            let sum = before.addingCapped(amount)
            let (isChanged, found) = weakCompareExchange(expected: before, desired: sum, ordering: .relaxed)
            if isChanged { return }
            before = found
        }
    }
}
