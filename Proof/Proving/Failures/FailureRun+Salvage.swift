import PerdureLog
import PerdureTestSupport

// Salvage of a store while system calls fail.
extension FailureRun {
  private static let target = "/salvaged.perdure"

  /// Salvages the store, and opens the result without failing calls. The result must be an intact
  /// store. If calls failed and the report has findings, the result may lack values. Each value in
  /// it must be a value that its key once had. In other cases the salvage must restore everything.
  ///
  /// - Parameter spoil: Damages the result. Used by tests of this check.
  func salvage(_ spoil: (Store) throws -> Void = { _ in }) throws {
    guard base.currentImage.paths.contains(Self.path + "/SUPERBLOCK") else { return }
    let struck = begin()
    let report: SalvageReport
    do { report = try Store.salvage(from: Self.path, to: Self.target, options: optionsHere) } catch let error
      as StoreError
    { return try checkFit(error, "salvaging", since: struck, isReading: true) }
    let isExcused = !report.isClean && base.injectedFailureCount > struck
    do { try check(report, isExcused, spoil) } catch let error as StoreError {
      throw Violation("the salvaged store cannot be read, although no call fails: \(error)")
    }
  }

  private func check(_ report: SalvageReport, _ isExcused: Bool, _ spoil: (Store) throws -> Void) throws {
    var options = options
    options.fileSystem = base.currentImage.fileSystem()
    let copy = try Store(at: Self.target, options: options)
    try spoil(copy)
    let found = try CrashOracle.content(of: copy)
    let verification = try copy.verify()
    guard verification.isClean else {
      throw Violation("the salvaged store is damaged: \(verification.findings)")
    }
    let contents = history.contents(upTo: possible)
    for (key, value) in found {
      let isKnown = contents.contains { content in
        // Salvage makes a name for a keyspace whose definition is unreadable.
        if !key.keyspace.hasPrefix("lost-") { return content[key] == value }
        return content.contains { $0.key.key.stored == key.key.stored && $0.value == value }
      }
      guard isKnown else { throw Violation("in the salvaged store, \(key) has a value that it never had") }
    }
    guard !isExcused else { return }
    let source = try Store(at: Self.path, options: options)
    guard try found == CrashOracle.content(of: source) else {
      throw Violation("the salvaged store differs from the source: \(report)")
    }
  }
}
