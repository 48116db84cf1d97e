/// The number of instructions of one part of a run, read from a file of callgrind.
struct CallgrindProfile: Equatable {
  /// The number of instructions, of all threads.
  let instructions: Int

  /// Reads the totals of a file. Other lines are skipped.
  ///
  /// - Parameters:
  ///   - text: The file.
  ///   - name: The name of the file, for errors.
  /// - Throws: `CountingError` if the file has no column of instructions, or no total of this
  ///   column.
  init(_ text: some StringProtocol, named name: String) throws {
    var events: [Substring]?
    var totals: [Substring]?
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: " ")
      if fields.first == "events:" { events = Array(fields.dropFirst().map { Substring($0) }) }
      if fields.first == "totals:" { totals = Array(fields.dropFirst().map { Substring($0) }) }
    }
    guard let column = events?.firstIndex(of: "Ir") else {
      throw CountingError("\(name) has no column Ir. Run valgrind with --tool=callgrind.")
    }
    guard let totals, column < totals.count, let count = Int(totals[column]) else {
      throw CountingError("\(name) has no total of Ir: the process ended while it was written.")
    }
    instructions = count
  }
}
