// Builds the disk that a power cut leaves.
extension DurabilityModel {
  /// The allowed fates that are closest to the requested ones. Changes that DM3 and DM4 require to
  /// be durable are kept.
  func allowed(_ wished: [Fate]) -> [Fate] {
    guard !barriers.isEmpty || pending.contains(where: { $0.requires != nil }) else { return wished }
    var kept = Set(zip(pending, wished).filter { $0.1 != .lost }.map(\.0.number))
    let touched = kept
    demand(&kept)
    let demanded = barriers.reduce(into: kept.subtracting(touched)) { demanded, barrier in
      let isCrossed = pending.contains { $0.operation > barrier.operation && kept.contains($0.number) }
      if isCrossed { demanded.formUnion(barrier.covered) }
    }
    return zip(pending, wished).map { demanded.contains($0.number) ? .kept : $1 }
  }
}

/// Applies one operation after another to a disk, and builds the disks that a power cut can leave.
///
/// Equal files are built once and shared by all disks, because building the bytes of files is most
/// of the work.
struct DiskCutter {
  private(set) var model: DurabilityModel
  private let sectorLength: Int
  private let seed: UInt64
  /// The pending writes of each file, as positions in `pending`.
  private var writes: [UInt64: [Int]] = [:]
  /// The built versions of each file, by the fates of its pending writes. The versions are removed
  /// when the file or its writes change.
  private var made: [UInt64: [[Fate]: Made]] = [:]

  /// A built file, and the kinds of bytes that it contains in place of lost ones: zeros, noise or
  /// stale bytes.
  private struct Made {
    let bytes: FileBytes
    let rests: Set<CrashLoss>
  }

  /// The maximum number of built versions of a file.
  private static let madeMax = 256

  init(_ start: DurabilityModel, sectorLength: Int, seed: UInt64) {
    model = start
    self.sectorLength = sectorLength
    self.seed = seed
    findWrites()
  }

  var pending: [PendingChange] { model.pending }

  mutating func apply(_ event: DiskEvent, operation: Int) {
    model.apply(event, operation: operation)
    switch event {
    case .write(let write): made[write.file] = nil
    case .sync(let file, _), .forget(let file): made[file] = nil
    // A sync may make the removal of files durable, and other files may then contain their bytes.
    case .syncDirectory: made.removeAll()
    case .create, .link, .remove, .rename, .forgetEntries, .rememberEntries, .ignored:
      break
    }
    findWrites()
  }

  private mutating func findWrites() {
    writes.removeAll(keepingCapacity: true)
    for (position, change) in pending.enumerated() {
      if case .write(let write) = change.body { writes[write.file, default: []].append(position) }
    }
  }

  /// Builds the disk with these fates of the pending changes. Returns it with the losses.
  mutating func image(_ fates: [Fate]) -> (CrashImage, losses: Set<CrashLoss>) {
    var directories = model.directories
    for (change, fate) in zip(pending, fates) where fate != .lost {
      guard case .entries(let entries) = change.body else { continue }
      for entry in entries { directories[entry.directory, default: [:]][entry.name] = entry.node }
    }
    var onTheWay: Set<UInt64> = []
    var losses = CrashLoss.kinds(pending, fates)
    let root = entries(of: DurabilityModel.rootNode, in: directories, fates, &onTheWay, &losses)
    let image = CrashImage(root: root)
    return (model.linked.isEmpty ? image : image.withNumberedLinks(), losses)
  }

  /// Builds the content of a directory. Files that have lost all their names are not on the disk.
  ///
  /// - Parameter onTheWay: The directories that contain this one. If renames are applied out of
  ///   order, a directory can contain itself. The set detects this.
  private mutating func entries(
    of directory: UInt64, in directories: [UInt64: [String: UInt64]], _ fates: [Fate],
    _ onTheWay: inout Set<UInt64>, _ losses: inout Set<CrashLoss>
  ) -> [String: CrashImage.Node] {
    guard onTheWay.insert(directory).inserted else { return [:] }
    defer { onTheWay.remove(directory) }
    var entries: [String: CrashImage.Node] = [:]
    for (name, node) in directories[directory] ?? [:] {
      if model.directoryNodes.contains(node) {
        entries[name] = .directory(self.entries(of: node, in: directories, fates, &onTheWay, &losses))
      } else {
        let made = bytes(of: node, fates)
        losses.formUnion(made.rests)
        entries[name] = .file(made.bytes, link: model.linked.contains(node) ? node : nil)
      }
    }
    return entries
  }

  private mutating func bytes(of file: UInt64, _ fates: [Fate]) -> Made {
    let durable = model.files[file] ?? .empty
    guard let positions = writes[file] else { return Made(bytes: durable, rests: []) }
    let own = positions.map { fates[$0] }
    if let made = made[file]?[own] { return made }
    var (bytes, rests) = (durable.bytes, Set<CrashLoss>())
    for position in positions where fates[position] != .lost {
      guard case .write(let write) = pending[position].body else { continue }
      var noise = SeededGenerator(seed: seed).derived(UInt64(pending[position].number))
      let stale = model.freed.isEmpty ? [] : model.freed.randomElement(using: &noise)?.bytes ?? []
      let isMade = bytes.apply(
        write, fates[position], sectorLength: sectorLength, durable: durable.bytes, stale: stale, noise: noise
      )
      if isMade, let loss = fates[position].rest { rests.insert(loss) }
    }
    let result = Made(bytes: FileBytes(bytes), rests: rests)
    if made[file]?.count ?? 0 >= Self.madeMax { made[file] = nil }
    made[file, default: [:]][own] = result
    return result
  }
}

extension Fate {
  /// The kind of bytes in the parts of a torn write that did not reach the disk; nil for the old
  /// bytes.
  fileprivate var rest: CrashLoss? {
    switch self {
    case .torn(_, .zeros): .zeros
    case .torn(_, .garbage): .garbage
    case .torn(_, .stale): .stale
    case .lost, .kept, .torn(_, .old): nil
    }
  }
}
