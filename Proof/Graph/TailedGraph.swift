import Perdure
import PerdureFileIO
import PerdureLog
import PerdureProving
import PerdureTestSupport

@Entity
final class Crate: ManagedObject {
  @Attribute(.unique) var name: String
  @Relationship(inverse: "crate") var parts: ToMany<Part>
}

@Entity
final class Part: ManagedObject {
  @Attribute(.unique) var name: String
  @Attribute(.indexed) var weight: Int = 0
  /// Never changes.
  var number: Int = 0
  var label: String = ""
  @Relationship(inverse: "parts") var crate: Crate?
}

/// The values of a part's row.
struct PartRow: Hashable {
  var number: Int
  var version: Int

  var name: String { "part \(1000 + number) version \(version)" }
  /// The weight of a part. Several parts have the same weight, in every version.
  var weight: Int { 1000 + (number + 7 * version) % 40 }
  var crateName: String { "crate \((number + version) % TailedGraph.crateCount)" }

  init(number: Int, version: Int) { (self.number, self.version) = (number, version) }

  /// The version whose values a part has; nil if no version has them.
  init?(_ part: Part) {
    let versions = (1...TailedGraph.versionCount).map { PartRow(number: part.number, version: $0) }
    guard let row = versions.first(where: { $0.name == part.name }) else { return nil }
    guard part.weight == row.weight, part.crate?.name == row.crateName else { return nil }
    self = row
  }
}

/// The files of a graph's store with a checkpoint, and a log after it.
///
/// Every part has several versions before the checkpoint, in commits of different lengths. Each
/// version has other keys in the indexes. The log after the checkpoint replaces the parts from
/// `tailStart` on. So an opening reads the records of these parts, but not the records of the other
/// parts.
struct TailedGraph {
  static let path = "/Crates"
  static let partCount = 240
  static let crateCount = 5
  /// The number of versions: those before the checkpoint, and one in the log after it.
  static let versionCount = 4
  private static let tailStart = 180

  let files: [String: [UInt8]]
  /// The records before the checkpoint, in the order of the log.
  let places: [RecordPlace]
  /// The parts whose newest row is before the checkpoint.
  static let restingParts = 0..<tailStart

  /// The newest values of a part.
  static func row(_ number: Int) -> PartRow {
    PartRow(number: number, version: restingParts.contains(number) ? versionCount - 1 : versionCount)
  }

  static func container(
    on fileSystem: any FileSystem, bindsRecords: Bool = true, closeTailBytes: Int = .max,
    comparesReplacedRecords: Bool = true
  ) throws -> PersistentContainer {
    var description = PersistentStoreDescription(path: path)
    description.configuresEngine = { options in
      options = self.options(on: fileSystem, bindsRecords: bindsRecords)
      options.checkpoints.closeTailBytes = closeTailBytes
      options.comparesReplacedRecords = comparesReplacedRecords
    }
    let container = try PersistentContainer(
      name: "Crates", classes: [Crate.self, Part.self], description: description)
    try container.loadPersistentStores()
    return container
  }

  private static func options(on fileSystem: any FileSystem, bindsRecords: Bool) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.reserveBytes = 0
    options.bindsRecords = bindsRecords
    return options
  }

  init(bindsRecords: Bool, _ random: inout SeededGenerator) throws {
    let fileSystem = InMemoryFileSystem()
    let first = try Self.container(on: fileSystem, bindsRecords: bindsRecords, closeTailBytes: 0)
    try Self.insertCrates(first)
    for version in 1..<Self.versionCount {
      try Self.write(0..<Self.partCount, version: version, first, &random)
    }
    try first.close()
    places = try RecordPlace.all(in: Self.files(of: fileSystem))
    let second = try Self.container(on: fileSystem, bindsRecords: bindsRecords)
    try Self.write(Self.tailStart..<Self.partCount, version: Self.versionCount, second, &random)
    try second.close()
    files = try Self.files(of: fileSystem)
  }

  private static func insertCrates(_ container: PersistentContainer) throws {
    let context = container.newContext()
    for number in 0..<crateCount { Crate(context: context).name = "crate \(number)" }
    try context.save()
  }

  /// Writes one version of parts, in random order and in several commits.
  private static func write(
    _ numbers: Range<Int>, version: Int, _ container: PersistentContainer, _ random: inout SeededGenerator
  ) throws {
    var left = numbers.shuffled(using: &random)
    while !left.isEmpty {
      let context = container.newContext()
      let crates = try context.fetch(Crate.fetchRequest())
      for number in left.suffix(Int.random(in: 1...60, using: &random)) {
        left.removeLast()
        let row = PartRow(number: number, version: version)
        let part = try version == 1 ? Part(context: context) : find(number, version - 1, context)
        part.number = number
        (part.name, part.weight, part.label) = (row.name, row.weight, String(repeating: "x", count: 40))
        part.crate = crates.first { $0.name == row.crateName }
      }
      try context.save()
    }
  }

  private static func find(_ number: Int, _ version: Int, _ context: ManagedObjectContext) throws -> Part {
    let name = PartRow(number: number, version: version).name
    guard let part = try context.fetch(Part.fetchRequest { $0.name == name }).first else {
      throw Violation("\(name) is missing")
    }
    return part
  }

  private static func files(of fileSystem: InMemoryFileSystem) throws -> [String: [UInt8]] {
    var files: [String: [UInt8]] = [:]
    for name in try fileSystem.contents(of: path) {
      let file = try fileSystem.open(path + "/" + name, .read)
      files[name] = try file.read(Int(file.size()), at: 0)
    }
    return files
  }

  func fileSystem(with segment: [UInt8], named name: String) throws -> InMemoryFileSystem {
    let fileSystem = InMemoryFileSystem()
    try fileSystem.createDirectory(Self.path)
    for (file, bytes) in files {
      try fileSystem.open(Self.path + "/" + file, .create).write(file == name ? segment : bytes, at: 0)
    }
    return fileSystem
  }

  /// Whether a verification finds nothing.
  static func isClean(_ fileSystem: any FileSystem) throws -> Bool {
    var options = options(on: fileSystem, bindsRecords: true)
    options.isReadOnly = true
    return try Store(at: path, options: options).verify().isClean
  }
}
