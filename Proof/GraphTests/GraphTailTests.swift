import Perdure
import PerdureFileIO
import PerdureLog
import PerdureProving
import PerdureTestSupport
import Testing

@Entity
final class Crate: ManagedObject {
  @Attribute(.unique) var name: String
  @Relationship(inverse: "crate") var parts: ToMany<Part>
}

@Entity
final class Part: ManagedObject {
  @Attribute(.unique) var name: String
  @Attribute(.indexed) var weight: Int = 0
  var label: String = ""
  @Relationship(inverse: "parts") var crate: Crate?
}

/// The files of a graph's store that was closed with log records after its checkpoint.
private struct TailedGraph {
  static let path = "/Crates"
  /// With this number, closing writes a checkpoint after all parts were added, but not after a
  /// third of them was changed.
  static let partCount = 1500
  static let crateCount = 5
  let files: [String: [UInt8]]

  static func weight(_ number: Int) -> Int { 1000 + number % 100 + (number % 3 == 0 ? 500 : 0) }

  static func container(on fileSystem: any FileSystem) throws -> PersistentContainer {
    var description = PersistentStoreDescription(path: path)
    description.configuresEngine = { options in
      options.fileSystem = fileSystem
      options.compactsAutomatically = false
      options.reserveBytes = 0
    }
    let container = try PersistentContainer(
      name: "Crates", classes: [Crate.self, Part.self], description: description)
    try container.loadPersistentStores()
    return container
  }

  init() throws {
    let fileSystem = InMemoryFileSystem()
    do {
      let container = try Self.container(on: fileSystem)
      let context = container.newContext()
      let crates = (0..<Self.crateCount).map { number in
        let crate = Crate(context: context)
        crate.name = "crate \(number)"
        return crate
      }
      for number in 0..<Self.partCount {
        let part = Part(context: context)
        part.name = "part \(1000 + number)"
        part.label = String(repeating: "x", count: 40)
        part.weight = 1000 + number % 100
        part.crate = crates[number % Self.crateCount]
      }
      try context.save()
      try container.close()
    }
    let container = try Self.container(on: fileSystem)
    let context = container.newContext()
    for part in try context.fetch(Part.fetchRequest()) {
      let number = Int(part.name.dropFirst(5)).map { $0 - 1000 } ?? 0
      if number % 3 == 0 { part.weight += 500 }
    }
    try context.save()
    try container.close()
    var files: [String: [UInt8]] = [:]
    for name in try fileSystem.contents(of: Self.path) {
      let file = try fileSystem.open(Self.path + "/" + name, .read)
      files[name] = try file.read(Int(file.size()), at: 0)
    }
    self.files = files
  }

  func fileSystem(with segment: [UInt8], named name: String) throws -> InMemoryFileSystem {
    let fileSystem = InMemoryFileSystem()
    try fileSystem.createDirectory(Self.path)
    for (file, bytes) in files {
      try fileSystem.open(Self.path + "/" + file, .create).write(file == name ? segment : bytes, at: 0)
    }
    return fileSystem
  }
}

/// Intact records at wrong addresses, in the rows of a graph.
@Suite("Misplaced sectors of a graph's store, followed by a tail")
struct GraphTailTests {
  @Test("Every answer is right or an error, and no second object gets a unique name")
  func sectors() throws {
    var random = SeededGenerator.forTest("sectors of a graph under a tail")
    let graph = try TailedGraph()
    let name = try #require(graph.files.keys.filter { $0.hasSuffix(".segment") }.min())
    let bytes = try #require(graph.files[name])
    var refused = 0
    for _ in 0..<40 {
      let places = Array(stride(from: 0, through: bytes.count - 512, by: 512))
      let (from, to) = (random.pick(places), random.pick(places))
      let damage =
        Bool.random(using: &random)
        ? Damage.copy(from: from, to: to, length: 512) : .exchange(from, to, length: 512)
      let segment = damage.applied(to: bytes)
      guard segment != bytes else { continue }
      let container: PersistentContainer
      do {
        container = try TailedGraph.container(on: graph.fileSystem(with: segment, named: name))
      } catch {
        refused += 1
        continue
      }
      try check(container, "\(damage)", &random)
    }
    #expect(refused < 40)
    let whole = try TailedGraph.container(on: graph.fileSystem(with: bytes, named: name))
    try check(whole, "no damage", &random)
  }

  private func check(
    _ container: PersistentContainer, _ damage: String, _ random: inout SeededGenerator
  ) throws {
    for number in (0..<TailedGraph.partCount).shuffled(using: &random).prefix(60) {
      let context = container.newContext()
      let name = "part \(1000 + number)"
      guard let found = try? context.fetch(Part.fetchRequest { $0.name == name }) else { continue }
      let words = found.map { "\($0.name) \($0.weight) \($0.crate?.name ?? "none")" }
      let crate = "crate \(number % TailedGraph.crateCount)"
      #expect(words == ["\(name) \(TailedGraph.weight(number)) \(crate)"], "\(damage)")
    }
    for number in 0..<TailedGraph.crateCount {
      let context = container.newContext()
      let name = "crate \(number)"
      guard let crate = try? context.fetch(Crate.fetchRequest { $0.name == name }).first else { continue }
      #expect(crate.parts.count == TailedGraph.partCount / TailedGraph.crateCount, "\(damage)")
    }
    let context = container.newContext()
    let twice = Part(context: context)
    twice.name = "part \(1000 + Int.random(in: 0..<TailedGraph.partCount, using: &random))"
    #expect(throws: (any Error).self, "\(damage)") { try context.save() }
  }
}
