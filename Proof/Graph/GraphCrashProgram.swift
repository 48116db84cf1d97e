package import Perdure
package import PerdureFileIO
package import PerdureLog
import PerdureProving
package import PerdureTestSupport

/// Edits a graph at random, and notes the content after every save.
package struct GraphCrashProgram: CrashProgram {
  package static let path = "/guild.perdure"
  /// The minimum threshold that a store accepts. Values above the threshold have their own files.
  static let blobThresholdMin = 1024

  package let subject: GraphCrashSubject
  package let seed: UInt64
  /// Wraps the disk, for a deliberately wrong engine.
  package var disk: @Sendable (any FileSystem) -> any FileSystem = { $0 }
  /// Wraps the extractors, for a deliberately wrong engine.
  package var extractors: @Sendable (any IndexExtractorFactory) -> any IndexExtractorFactory = { $0 }
  /// The models are made once, instead of for each of a million openings.
  private let models: Result<[ManagedObjectModel], any Error>

  init(subject: GraphCrashSubject, seed: UInt64) {
    (self.subject, self.seed) = (subject, seed)
    models = Result { try subject.world.models() }
  }

  /// Longer values have their own files.
  var blobThreshold: Int {
    subject.world.hasBlobs ? Self.blobThresholdMin : StoreOptions().blobThresholdBytes
  }

  package func run(on fileSystem: any FileSystem, _ marker: CrashMarker) async throws -> GraphCrashCheck {
    try edit(on: fileSystem, marker)
  }

  /// - Parameter version: The number of the model.
  package func open(on fileSystem: any FileSystem, version: Int = 0) throws -> LogPersistentStore {
    try open(on: fileSystem, models.get()[version])
  }

  /// Opens the store read-only and without a model, as the commands `verify`, `stats` and `dump`
  /// do.
  func openToRead(on fileSystem: any FileSystem) throws -> LogPersistentStore {
    var options = StoreOptions()
    options.fileSystem = disk(fileSystem)
    options.isReadOnly = true
    return try LogPersistentStore(at: Self.path, model: nil, options: options, extractors: extractors)
  }

  private func open(
    on fileSystem: any FileSystem, _ model: ManagedObjectModel
  ) throws -> LogPersistentStore {
    var options = StoreOptions()
    options.fileSystem = disk(fileSystem)
    options.segmentCapacityBytes = 8192
    options.blobThresholdBytes = blobThreshold
    options.checkpoints = .manual
    if seed % 2 == 0 { options.checkpoints.closeTailBytes = 0 }
    options.compactsAutomatically = false
    return try LogPersistentStore(at: Self.path, model: model, options: options, extractors: extractors)
  }

  func container(
    _ store: LogPersistentStore, _ durability: Durability = .powerLoss
  ) throws -> PersistentContainer {
    let container = PersistentContainer(
      name: "guild", model: store.model.model, classes: subject.world.classes,
      description: .init(path: Self.path, durability: durability),
      factory: StoreFactory { _, _ in store })
    try container.loadPersistentStores()
    return container
  }

  private func edit(on fileSystem: any FileSystem, _ marker: CrashMarker) throws -> GraphCrashCheck {
    var random = SeededGenerator(seed: seed)
    var check = GraphCrashCheck(program: self)
    var version = 0
    for first in stride(from: 0, to: subject.saves, by: subject.reopensEvery) {
      if first > 0 { try refuseMisfit(on: fileSystem, &random) }
      if first > 0 { version += Int.random(in: 0...2, using: &random) }
      version = min(version, try models.get().count - 1)
      marker.begin(check.beginOpening(version))
      let store = try open(on: fileSystem, version: version)
      try check.endOpening(store)
      let durability = random.pick(subject.durabilities)
      let isPromised = durability == .powerLoss || subject.believesAll
      let container = try container(store, durability)
      var editor = GraphEditor(
        context: container.newContext(), world: subject.world, version: version, random: random)
      for _ in first..<min(first + subject.reopensEvery, subject.saves) {
        let isSaved = try editor.save()
        // A save without changes makes no commit. The last commit may be a reservation of ids,
        // which the store promised to no caller.
        if try check.note(store), isSaved, isPromised { marker.promise(Int(store.view().sequence)) }
      }
      random = editor.random
      // Either closes the store, which promises all commits, or releases it without closing it,
      // like a process that ends.
      let last = store.view().sequence
      if Bool.random(using: &random) {
        try container.close()
        marker.promise(Int(last))
      }
    }
    return check
  }

  /// Sometimes checks that an opening fails if its model requires more than additions. The next
  /// opening checks that the graph is unchanged.
  private func refuseMisfit(on fileSystem: any FileSystem, _ random: inout SeededGenerator) throws {
    let misfits = try subject.world.misfits()
    guard !misfits.isEmpty, random.chance(30) else { return }
    do {
      _ = try open(on: fileSystem, random.pick(misfits))
    } catch let error as ModelError where error.code == .incompatibleModel {
      return
    }
    throw Violation("a model that needs a migration was accepted")
  }
}
