/// A 64-bit hash that is the same in every process, unlike `Hasher`, so that a share of tokens stays the same.
///
/// FNV-1a, with the finalizer of MurmurHash3, so that its high bits depend on all input.
struct StableHash {
    private var state: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func combine(_ text: String) {
        for byte in text.utf8 {
            state = (state ^ UInt64(byte)) &* 0x0000_0100_0000_01b3
        }
        // A byte that UTF-8 never contains distinguishes ("ab", "c") from ("a", "bc").
        state = (state ^ 0xff) &* 0x0000_0100_0000_01b3
    }

    var value: UInt64 {
        var mixed = state
        mixed = (mixed ^ (mixed >> 33)) &* 0xff51_afd7_ed55_8ccd
        mixed = (mixed ^ (mixed >> 33)) &* 0xc4ce_b9fe_1a85_ec53
        return mixed ^ (mixed >> 33)
    }

    /// The hash as a number from 0 to 1, excluding 1.
    var fraction: Double {
        Double(value >> 11) / Double(UInt64(1) << 53)
    }
}
