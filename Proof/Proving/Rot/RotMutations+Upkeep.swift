import PerdureFileIO
import PerdureLog
import PerdureTestSupport

// The worst result of maintenance on a damaged store is damage that seems valid. For example, a
// damaged record gets a new checksum when it is moved, or it is dropped without an error.

extension RotMutations {
  /// Compacts a damaged store, writes a checkpoint and closes it. Afterwards every value that was
  /// readable before must still be readable. All other reads must return the right value or throw
  /// an error.
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
      guard lost.isEmpty else { throw Violation("\(lost.count) keys can no longer be read") }
    } catch let violation as Violation {
      throw Violation("after the damaged store was compacted: \(violation)")
    }
  }

  /// The keys with the right value. All others must throw an error.
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

  /// Gives damaged records new checksums, for the canary. The real compaction leaves damaged
  /// records in place.
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
