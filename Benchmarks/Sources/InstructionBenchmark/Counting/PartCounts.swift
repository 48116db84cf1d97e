import Measuring

/// The counts of the three parts of a run: a warm-up, n operations, and 2n operations.
struct PartCounts: Equatable {
  static let partCount = 3

  /// The number of instructions of n operations.
  let once: Int
  /// The number of instructions of 2n operations.
  let twice: Int

  /// - Parameter parts: The number of instructions of each part, in the order of the run. The first
  ///   part is the warm-up, which is ignored.
  /// - Throws: `CountingError` if a part is missing or counts nothing.
  init(_ parts: [Int], of operation: String) throws {
    guard parts.count == Self.partCount else {
      throw CountingError("\(operation): callgrind wrote \(parts.count) parts instead of \(Self.partCount).")
    }
    guard parts.allSatisfy({ $0 > 0 }) else {
      throw CountingError(
        "\(operation): a part counts no instruction. The binary has no symbol \(CountedSymbols.counted).")
    }
    (once, twice) = (parts[1], parts[2])
  }

  /// The number of instructions of one operation, rounded to a tenth. It is computed from the
  /// difference of both parts, in which costs that do not depend on the number of operations cancel
  /// out.
  func perOperation(_ repetitions: Int) -> Double {
    (Double(twice - once) / Double(repetitions) * 10).rounded() / 10
  }
}
