import DebianIndexReading

/// A digest of a set of packages that is independent of their order.
///
/// Each package is hashed separately from a canonical text. The hashes are summed and xor-ed. A
/// package that is missing, duplicated or different in any field changes the digest.
struct ArchiveDigest: Equatable, CustomStringConvertible {
  private(set) var count = 0
  private var sum: UInt64 = 0
  private var parity: UInt64 = 0

  mutating func add(_ hash: PackageHash) {
    count += 1
    sum &+= hash.value
    parity ^= hash.value
  }

  var description: String {
    let hex = String(sum ^ (parity &* 0x9E37_79B9_7F4A_7C15), radix: 16)
    return String(repeating: "0", count: 16 - hex.count) + hex
  }
}

/// The hash of one package. The fields have a fixed order. Each field ends with a byte that occurs
/// in no field.
struct PackageHash {
  private var state: UInt64 = 0xCBF2_9CE4_8422_2325

  init(name: String, version: String, architecture: String) {
    add(name)
    add(version)
    add(architecture)
  }

  /// FNV-1a over the text and an end mark.
  mutating func add(_ text: String) {
    for byte in text.utf8 { mix(byte) }
    mix(0xFF)
  }

  mutating func add(_ number: Int) { add(String(number)) }

  private mutating func mix(_ byte: UInt8) { state = (state ^ UInt64(byte)) &* 0x100_0000_01B3 }

  /// The state with its bits spread, so that sums of hashes do not cancel.
  var value: UInt64 {
    var word = state
    word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
    return word ^ (word >> 31)
  }

  // MARK: The fields after the key, in the order in which engines add them

  mutating func add(maintainer: Maintainer?) {
    add(maintainer?.name ?? "")
    add(maintainer?.address ?? "")
  }

  mutating func add(section: String?) { add(section ?? "") }

  /// - Parameter tags: The tags, in any order.
  mutating func add(tags: [String]) {
    add(tags.count)
    for tag in tags.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) { add(tag) }
  }

  /// - Parameter dependency: A dependency of the package. Call this in the order of kind, group and
  ///   position.
  mutating func add(dependency: Dependency) {
    add(dependency.kind.rawValue)
    add(dependency.group)
    add(dependency.position)
    add(dependency.target)
    add(dependency.architecture ?? "")
    add(dependency.constraint?.relation.rawValue ?? "")
    add(dependency.constraint?.version ?? "")
  }
}

extension PackageHash {
  /// The hash of all fields of `record` that the model stores.
  init(_ record: PackageRecord) {
    self.init(name: record.name, version: record.version, architecture: record.architecture)
    add(maintainer: record.maintainer)
    add(section: record.section)
    add(tags: record.tags)
    for dependency in record.dependencies { add(dependency: dependency) }
  }
}

/// The digest that a store must have after an import, made from the records alone.
struct ExpectedDigest {
  private struct Key: Hashable {
    var name: String
    var version: String
    var architecture: String
  }

  private var seen: Set<Key> = []
  private(set) var digest = ArchiveDigest()

  mutating func add(_ record: PackageRecord) {
    let key = Key(name: record.name, version: record.version, architecture: record.architecture)
    if seen.insert(key).inserted { digest.add(PackageHash(record)) }
  }
}
