import Foundation

/// Says one line of the results at once, also where the output is a file.
func report(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
}
