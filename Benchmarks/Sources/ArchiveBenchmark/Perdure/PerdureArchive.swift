import DebianArchiveGraph
import DebianIndexReading
import Foundation
import Perdure
import PerdureLog

/// The archive as an object graph, with the example's own model and importer.
final class PerdureArchive: ArchiveEngine {
  static let name = "Perdure"
  static func settings(_ durability: Durability) -> String {
    "objects of the example's model, durability \(level(durability)), otherwise the defaults"
  }
  /// With a new context for each traversal, every object is a fault. With a kept context, objects
  /// of earlier traversals are in memory.
  static let closureMethods = ["objects, new context", "objects, kept context"]

  private let folder: URL
  private let durability: Durability
  private let packageNames: Set<String>
  private var container: PersistentContainer?
  private var importer: ArchiveImporter?
  private var kept: (context: ManagedObjectContext, objects: [ManagedObject])?

  init(folder: URL, durability: Durability, packageNames: Set<String>) throws {
    self.folder = folder
    self.durability = durability
    self.packageNames = packageNames
    try reopen()
  }

  func reopen() throws {
    let path = folder.appendingPathComponent("archive.perdure").path
    let container = try PersistentContainer(
      name: "archive", classes: archiveClasses,
      description: .init(path: path, durability: Self.level(durability)))
    try container.loadPersistentStores()
    self.container = container
  }

  private static func level(_ durability: Durability) -> PerdureLog.Durability {
    durability == .full ? .powerLoss : .processCrash
  }

  func importBatch(_ records: [PackageRecord]) throws {
    let importer = try self.importer ?? ArchiveImporter(opened(), packageNames: packageNames)
    self.importer = importer
    try importer.importBatch(records)
  }

  func finish() throws {
    importer = nil
    kept = nil
    try container?.close()
    container = nil
  }

  func closure(of packageName: String, method: String) throws -> [ManagedObjectID] {
    let isKept = method == Self.closureMethods[1]
    let context = try isKept ? kept?.context ?? opened().newContext() : opened().newContext()
    let found = try ArchiveQuestions(context).closure(of: packageName)
    if isKept, kept == nil { kept = (context, Array(context.registeredObjects)) }
    return found.map(\.objectID)
  }

  func digest(of closure: [ManagedObjectID]) throws -> ArchiveDigest {
    let context = try opened().newContext()
    var digest = ArchiveDigest()
    for case let package as Package in closure.map({ context.object(with: $0) }) {
      digest.add(
        PackageHash(name: package.name, version: package.version, architecture: package.architecture))
    }
    return digest
  }

  func resultDigest() throws -> ArchiveDigest {
    let context = try opened().newContext()
    var digest = ArchiveDigest()
    for package in try context.fetch(FetchRequest<Package>()) { digest.add(PackageHash(package)) }
    return digest
  }

  private func opened() throws -> PersistentContainer {
    guard let container else { throw ArchiveClosed() }
    return container
  }
}

/// An operation on an archive that is not open.
struct ArchiveClosed: Error {}

extension PackageHash {
  /// The hash of all data in the graph for `package`.
  fileprivate init(_ package: Package) {
    self.init(name: package.name, version: package.version, architecture: package.architecture)
    add(maintainer: package.maintainer.map { .init(name: $0.name, address: $0.address) })
    add(section: package.section?.name)
    add(tags: package.tags.map(\.name))
    let dependencies = package.dependencies.compactMap(DebianIndexReading.Dependency.init)
      .sorted { ($0.kind.rawValue, $0.group, $0.position) < ($1.kind.rawValue, $1.group, $1.position) }
    for dependency in dependencies { add(dependency: dependency) }
  }
}

extension DebianIndexReading.Dependency {
  fileprivate init?(_ object: DebianArchiveGraph.Dependency) {
    guard
      let kind = DependencyKind(rawValue: Int(object.kind)),
      let target = object.target ?? object.provided
    else { return nil }
    let constraint = object.relation.flatMap(VersionRelation.init(rawValue:)).map {
      VersionConstraint($0, object.version ?? "")
    }
    self.init(
      kind: kind, group: Int(object.group), position: Int(object.position), target: target.text,
      architecture: object.architecture, constraint: constraint)
  }
}
