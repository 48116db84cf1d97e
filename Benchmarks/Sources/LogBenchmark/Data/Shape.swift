import ArgumentParser
import CLogFloor

/// The form of the keys of a store.
enum KeyKind: String, Codable {
  /// Keys of 16 bytes without a relation to each other.
  case hashed
  /// Ids without gaps, beginning with 1.
  case dense
}

/// The form of a run's keys and the length of its values.
enum Shape: String, CaseIterable, ExpressibleByArgument, Codable {
  case hashed100 = "hashed-100"
  case dense100 = "dense-100"
  case hashed1024 = "hashed-1024"
  case dense1024 = "dense-1024"

  var keyKind: KeyKind { self == .hashed100 || self == .hashed1024 ? .hashed : .dense }

  var valueLength: Int { self == .hashed100 || self == .dense100 ? 100 : 1024 }

  /// The number of records for this shape. Long values get a quarter of the records, so the sizes
  /// of the stores differ less.
  func recordCount(forSmallValues count: Int) -> Int { valueLength == 100 ? count : max(count / 4, 1) }

  func key(_ ordinal: Int) -> log_key {
    let number = UInt64(truncatingIfNeeded: ordinal)
    guard keyKind == .hashed else { return log_key(first: number + 1, second: 0) }
    // Both are bijections, so no two ordinals share a key.
    let first = Scramble.mix(number)
    return log_key(first: first, second: Scramble.mix(first ^ 0x5DEE_CE66_D1A4_F087))
  }

  /// A key that no ordinal below 2^40 has.
  func missingKey(_ ordinal: Int) -> log_key { key(ordinal + 1 << 40) }
}

extension log_key {
  /// Compares keys in the order of the engines: bytes for hashed keys, numbers for ids.
  static func isOrdered(_ a: log_key, _ b: log_key, as kind: KeyKind) -> Bool {
    guard kind == .hashed else { return a.first < b.first }
    return (a.first.bigEndian, a.second.bigEndian) < (b.first.bigEndian, b.second.bigEndian)
  }

  @inline(__always)
  init(bytes: UnsafeRawPointer) {
    self.init(
      first: bytes.loadUnaligned(as: UInt64.self),
      second: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }
}
