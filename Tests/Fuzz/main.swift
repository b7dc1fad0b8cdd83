import Glibc

/// Runs libFuzzer on one parser: `Fuzz PARSER [ARGUMENTS OF LIBFUZZER]`.
///
/// Built only with `FANFARE_BUILD=fuzz`, since everything must be compiled for libFuzzer: see `deploy/fuzz.sh`.
@_silgen_name("LLVMFuzzerRunDriver")
func runFuzzer(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ body: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

guard CommandLine.argc > 1, let parser = FuzzedParser(rawValue: CommandLine.arguments[1]) else {
    print("usage: Fuzz \(FuzzedParser.allCases.map(\.rawValue).joined(separator: "|")) [libFuzzer's arguments]")
    exit(64)
}
FuzzedParser.chosen = parser

// libFuzzer takes the parser's name for its own.
var arguments = CommandLine.unsafeArgv
arguments[1] = arguments[0]
arguments += 1
var count = CommandLine.argc - 1
exit(
    runFuzzer(&count, &arguments) { bytes, length in
        FuzzedParser.chosen.parse(Array(UnsafeBufferPointer(start: bytes, count: length)))
        return 0
    }
)
