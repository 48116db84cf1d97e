import PerdureFileIO
package import PerdureLog
import PerdureTestSupport

/// The operations of a process that will be killed. They end only with an error.
package enum KillChild {
  /// Makes one step after another. After the commit of a step that must survive a kill, notes the
  /// number of the step in a file next to the store.
  ///
  /// - Parameter isEarly: Whether each note is for a step that is not made yet. This is wrong, and
  ///   the campaign must detect it.
  package static func write(_ directory: String, seed: UInt64, _ durability: Durability, isEarly: Bool) throws
  {
    let store = try Store(at: storePath(directory), options: options(readOnly: false))
    let rows = try store.keyspace("rows", .dense)
    guard var model = KillModel(seed: seed, reading: try contents(store.snapshot(), rows)) else {
      throw Violation("the rows do not match the state after any step")
    }
    let note = try AcknowledgedStep(directory)
    var hasBegun = false
    var random = SeededGenerator(seed: seed).derived(model.count)
    while true {
      let changes = model.advance()
      if isEarly { try note.set(model.count + 1) }
      try store.write(durability: durability) { transaction in
        for (id, value) in changes {
          if let value {
            try transaction.put(value, id: id, in: rows)
          } else {
            try transaction.remove(id: id, in: rows)
          }
        }
      }
      if durability >= .processCrash && !isEarly { try note.set(model.count) }
      if !hasBegun { try ChildMark.begun.set(in: directory) }
      hasBegun = true
      switch Int.random(in: 0..<60, using: &random) {
      case 0: try store.compact()
      case 1, 2: try store.checkpoint()
      default: break
      }
    }
  }

  /// Follows the writer. Checks that every state is the result of a step, and that the steps never
  /// go backwards.
  package static func read(_ directory: String, seed: UInt64) throws {
    var hasRead = false
    while true {
      let store: Store
      do { store = try Store(at: storePath(directory), options: options(readOnly: true)) } catch let error
        as StoreError
      {
        // The first writer may not have finished the creation of the store.
        guard [.notAStore, .locked, .io].contains(error.code) else { throw error }
        continue
      }
      var last: UInt64 = 0
      for _ in 0..<100 {
        try store.refresh()
        guard let rows = try store.keyspaces.first else { continue }
        guard let model = KillModel(seed: seed, reading: try contents(store.snapshot(), rows)) else {
          throw Violation(
            "a reader sees rows that occur after no step, at commit \(store.snapshot().sequence)")
        }
        guard model.count >= last else {
          throw Violation("a reader sees step \(model.count) after step \(last)")
        }
        last = model.count
        if !hasRead && last > 0 {
          try ChildMark.read.set(in: directory)
          hasRead = true
        }
      }
    }
  }

  /// Waits without end, and never opens the store. The campaign must detect such a reader.
  package static func readNothing() { while true { SystemLink.waitAMillisecond() } }

  static func storePath(_ directory: String) -> String { directory + "/s.perdure" }

  static func options(readOnly: Bool) -> StoreOptions {
    var options = StoreOptions()
    options.isReadOnly = readOnly
    options.segmentCapacityBytes = 32 << 10
    options.blobThresholdBytes = 1024
    options.reserveBytes = 0
    return options
  }

  package static func contents(_ snapshot: Snapshot, _ rows: Keyspace) throws -> [UInt64: [UInt8]] {
    var found: [UInt64: [UInt8]] = [:]
    try snapshot.forEach(in: rows) { (id: UInt64, value: RawSpan) in
      found[id] = value.withUnsafeBytes { Array($0) }
      return true
    }
    return found
  }
}

/// A file that shows the progress of a process.
enum ChildMark: String, CaseIterable {
  /// The writer has made a step.
  case begun
  /// The reader has read the result of a step, and it was correct.
  case read

  private func path(_ directory: String) -> String { directory + "/" + rawValue }

  func set(in directory: String) throws {
    if !isSet(in: directory) { _ = try POSIXFileSystem().open(path(directory), .create) }
  }

  func remove(in directory: String) throws {
    if isSet(in: directory) { try POSIXFileSystem().remove(path(directory)) }
  }

  func isSet(in directory: String) -> Bool {
    (try? POSIXFileSystem().kind(of: path(directory))) == .file
  }
}

/// The last acknowledged step, in a file that remains after the process has ended. The write of a
/// note can be interrupted like any other write. So notes alternate between two slots. The
/// complement after the number shows that a note is complete.
package struct AcknowledgedStep {
  private static let slotLength = 16
  private let file: any File

  init(_ directory: String) throws {
    let (path, fileSystem) = (directory + "/acknowledged", POSIXFileSystem())
    file = try fileSystem.open(path, try fileSystem.kind(of: path) == nil ? .create : .readWrite)
  }

  func set(_ step: UInt64) throws {
    try file.write(Self.note(of: step), at: UInt64(Self.place(of: step)))
  }

  /// The last acknowledged step; 0 if there is none.
  func get() throws -> UInt64 { Self.last(in: try file.read(2 * Self.slotLength, at: 0)) }

  /// The bytes written for a step, and their offset.
  package static func note(of step: UInt64) -> [UInt8] { KillModel.bytes(step, ~step) }
  package static func place(of step: UInt64) -> Int { Int(step % 2) * slotLength }

  /// The last step with a complete note in the file's bytes; 0 if there is none.
  package static func last(in bytes: [UInt8]) -> UInt64 {
    let steps = stride(from: 0, to: bytes.count, by: slotLength).compactMap { start -> UInt64? in
      let slot = Array(bytes[start...].prefix(slotLength))
      let step = KillModel.integer(slot)
      return slot == note(of: step) ? step : nil
    }
    return steps.max() ?? 0
  }
}
