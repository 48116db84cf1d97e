import PerdureFileIO
import PerdureLog
import PerdureTestSupport

// The worst that a store can do with damage is to make it look right: a damaged record gets a new
// checksum when it is moved, or is left out silently.

extension RotMutations {
  /// A store that is compacted and writes a checkpoint where there is damage in it gives back what
  /// could be read before, and of all else the right value or an error.
  func tidyUp(_ opened: Store, _ damage: RotDamage, on fileSystem: InMemoryFileSystem) throws {
    let readable = try readableKeys(of: opened)
    let steps: [() throws -> Void] = [
      { try opened.compact() }, { try opened.checkpoint() }, { try opened.close() },
    ]
    for step in steps {
      do { try step() } catch let error as StoreError { try damage.places.check(error) }
    }
    if canary == .resealedDamage { try reseal(damage, on: fileSystem) }
    do {
      let again = try Store(at: RotStore.path, options: RotStore.options(on: fileSystem))
      let lost = readable.subtracting(try readableKeys(of: again))
      guard lost.isEmpty else { throw Violation("\(lost.count) keys cannot be read any more") }
    } catch let violation as Violation {
      throw Violation("when the store was compacted over the damage: \(violation)")
    }
  }

  /// Those whose values are right; all others are errors.
  private func readableKeys(of opened: Store) throws -> Set<CrashKey> {
    let reader = try RotReader(opened)
    var readable: Set<CrashKey> = []
    for (key, value) in store.content {
      do {
        guard try reader.value(of: key) == value else { throw Violation("\(key) has a wrong value, or none") }
        readable.insert(key)
      } catch let error as StoreError where error.code == .corruption {}
    }
    return readable
  }

  /// For the canary, where compaction leaves damaged records in their places.
  private func reseal(_ damage: RotDamage, on fileSystem: InMemoryFileSystem) throws {
    for part in damage.parts where part.kind == .liveRecord {
      let file = try fileSystem.open(RotStore.path + "/" + part.file, .readWrite)
      guard try file.size() >= UInt64(part.range.upperBound), let original = store.files[part.file] else {
        continue
      }
      let bytes = try file.read(part.range.count, at: UInt64(part.range.lowerBound))
      try file.write(
        RotChecksum.ofRecord(bytes, was: Array(original[part.range])), at: UInt64(part.range.lowerBound))
    }
  }
}
