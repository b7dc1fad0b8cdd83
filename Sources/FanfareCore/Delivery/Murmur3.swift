/// MurmurHash3 (x64, 128 bits; Austin Appleby, public domain): fast and well mixed, not cryptographic.
enum Murmur3 {
    private static let c1: UInt64 = 0x87C3_7B91_1142_53D5
    private static let c2: UInt64 = 0x4CF5_AD43_2745_937F

    /// Hashes 64-bit words, with the result of the reference for their little-endian bytes.
    ///
    /// - Parameters:
    ///   - first: bytes 0 to 7.
    ///   - second: bytes 8 to 15.
    ///   - third: bytes 16 to 23.
    ///   - seed: the seed.
    /// - Returns: the two halves.
    static func hash(_ first: UInt64, _ second: UInt64, _ third: UInt64, seed: UInt64 = 0) -> (UInt64, UInt64) {
        var (h1, h2) = (seed, seed)
        mix(&h1, &h2, first, second)
        h1 ^= rotate(third &* c1, 31) &* c2
        return finish(h1, h2, length: 24)
    }

    /// Hashes bytes.
    ///
    /// - Parameters:
    ///   - bytes: the bytes.
    ///   - seed: the seed.
    /// - Returns: the two halves.
    static func hash(_ bytes: [UInt8], seed: UInt64 = 0) -> (UInt64, UInt64) {
        var (h1, h2) = (seed, seed)
        var position = 0
        while bytes.count - position >= 16 {
            mix(&h1, &h2, word(bytes, position), word(bytes, position + 8))
            position += 16
        }
        if bytes.count - position > 8 { h2 ^= rotate(word(bytes, position + 8) &* c2, 33) &* c1 }
        if bytes.count > position { h1 ^= rotate(word(bytes, position) &* c1, 31) &* c2 }
        return finish(h1, h2, length: UInt64(bytes.count))
    }

    private static func mix(_ h1: inout UInt64, _ h2: inout UInt64, _ first: UInt64, _ second: UInt64) {
        h1 ^= rotate(first &* c1, 31) &* c2
        h1 = (rotate(h1, 27) &+ h2) &* 5 &+ 0x52DC_E729
        h2 ^= rotate(second &* c2, 33) &* c1
        h2 = (rotate(h2, 31) &+ h1) &* 5 &+ 0x3849_5AB5
    }

    private static func finish(_ h1: UInt64, _ h2: UInt64, length: UInt64) -> (UInt64, UInt64) {
        var (h1, h2) = (h1 ^ length, h2 ^ length)
        h1 &+= h2
        h2 &+= h1
        h1 = avalanche(h1)
        h2 = avalanche(h2)
        h1 &+= h2
        h2 &+= h1
        return (h1, h2)
    }

    private static func avalanche(_ value: UInt64) -> UInt64 {
        var value = value
        value ^= value >> 33
        value &*= 0xFF51_AFD7_ED55_8CCD
        value ^= value >> 33
        value &*= 0xC4CE_B9FE_1A85_EC53
        value ^= value >> 33
        return value
    }

    private static func rotate(_ value: UInt64, _ bits: UInt64) -> UInt64 { value << bits | value >> (64 - bits) }

    /// Returns up to eight bytes from `start`, little-endian; bytes beyond the end are zero.
    private static func word(_ bytes: [UInt8], _ start: Int) -> UInt64 {
        var result: UInt64 = 0
        for index in start..<min(start + 8, bytes.count) {
            result |= UInt64(bytes[index]) << UInt64((index - start) * 8)
        }
        return result
    }
}
