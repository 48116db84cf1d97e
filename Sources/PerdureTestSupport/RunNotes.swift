import PerdureFileIO

// After a trap, a kill or a hang there is no report. Without its seed, the run could not be
// repeated. Therefore each exploration and each sweep writes its next step into a line of a file,
// before the step. This write of a few hundred bytes is cheap compared with a check that opens a
// store. The file is removed when the last run ends. It remains if the process ends during a run.

/// The current steps of the explorations and sweeps of this process, in a file that remains after a
/// trap.
final class RunNotes: Sendable {
  static let shared = RunNotes(
    path: "\(Environment.value(of: "TMPDIR") ?? "/tmp")/perdure-test-\(Environment.processID).txt",
    announce: { StandardStreams.say($0 + "\n", on: .error) })

  private struct State {
    var file: (any File)?
    /// Whether each line is in use.
    var lines: [Bool] = []
    var isAnnounced = false
  }

  private static let lineLength = 512

  let path: String
  private let announce: @Sendable (String) -> Void
  private let state = Guarded(State())

  init(path: String, announce: @escaping @Sendable (String) -> Void) {
    (self.path, self.announce) = (path, announce)
  }

  /// Allocates a line for a new run. If no file can be created, there are no notes.
  func begin() -> Int {
    state.withLock { state in
      if state.file == nil {
        let fileSystem = POSIXFileSystem()
        // Removes the file of an earlier process with the same number.
        try? fileSystem.remove(path)
        state.file = try? fileSystem.open(path, .create)
        if state.file != nil, !state.isAnnounced {
          announce(
            "PerdureTestSupport: if this process traps or hangs, \(path) has the seed and the last step.")
          state.isAnnounced = true
        }
      }
      if let free = state.lines.firstIndex(of: false) {
        state.lines[free] = true
        return free
      }
      state.lines.append(true)
      return state.lines.count - 1
    }
  }

  /// Writes the next step of a run into its line.
  func write(_ text: String, line: Int) {
    var bytes = Array(text.utf8.prefix(Self.lineLength - 1))
    bytes.append(contentsOf: repeatElement(UInt8(ascii: " "), count: Self.lineLength - 1 - bytes.count))
    bytes.append(UInt8(ascii: "\n"))
    let file = state.withLock { $0.file }
    try? file?.write(bytes, at: UInt64(line * Self.lineLength))
  }

  /// Frees a line. Removes the file if no line remains in use.
  func end(_ line: Int) {
    write("", line: line)
    state.withLock { state in
      state.lines[line] = false
      guard !state.lines.contains(true), let file = state.file else { return }
      try? file.close()
      try? POSIXFileSystem().remove(path)
      (state.file, state.lines) = (nil, [])
    }
  }
}

/// A line of the notes, for one exploration or sweep.
final class RunNote {
  private let line: Int?
  private let head: String

  /// - Parameter head: The text before each note: the name, and the command that repeats the run.
  init(_ head: String, isWanted: Bool) {
    self.head = head
    line = isWanted ? RunNotes.shared.begin() : nil
  }

  deinit {
    if let line { RunNotes.shared.end(line) }
  }

  /// Writes the next step into the line.
  func say(_ text: @autoclosure () -> String) {
    guard let line else { return }
    RunNotes.shared.write("\(head): \(text())", line: line)
  }
}
