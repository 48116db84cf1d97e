// Building the disk that a loss of power leaves.
extension DurabilityModel {
  /// The fates that R3 and R4 allow, closest to those wished for: what is demanded is kept.
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

  /// The disk that results if each pending change meets its fate.
  func image(_ fates: [Fate], sectorLength: Int, seed: UInt64) -> CrashImage {
    var directories = directories
    var writes: [NodeID: [(PendingChange, PendingChange.Write, Fate)]] = [:]
    for (change, fate) in zip(pending, fates) where fate != .lost {
      switch change.body {
      case .entries(let entries):
        for entry in entries { directories[entry.directory, default: [:]][entry.name] = entry.node }
      case .write(let write):
        writes[write.file, default: []].append((change, write, fate))
      }
    }
    var builder = ImageBuilder(directories: directories, directoryNodes: directoryNodes) { file in
      var bytes = files[file] ?? []
      let durableLength = bytes.count
      for (change, write, fate) in writes[file] ?? [] {
        let noise = SeededGenerator(seed: seed).derived(UInt64(change.number))
        bytes.apply(write, fate, sectorLength: sectorLength, durableLength: durableLength, noise: noise)
      }
      return bytes
    }
    return CrashImage(root: builder.entries(of: Self.rootNode))
  }
}

/// Walks down from the root; what no durable name leads to is not on the disk.
private struct ImageBuilder {
  let directories: [UInt64: [String: UInt64]]
  let directoryNodes: Set<UInt64>
  let bytes: (UInt64) -> [UInt8]
  /// Guards against a directory that out-of-order renames have put into itself.
  private var onTheWay: Set<UInt64> = []

  init(
    directories: [UInt64: [String: UInt64]], directoryNodes: Set<UInt64>, bytes: @escaping (UInt64) -> [UInt8]
  ) {
    self.directories = directories
    self.directoryNodes = directoryNodes
    self.bytes = bytes
  }

  mutating func entries(of directory: UInt64) -> [String: CrashImage.Node] {
    guard onTheWay.insert(directory).inserted else { return [:] }
    defer { onTheWay.remove(directory) }
    var entries: [String: CrashImage.Node] = [:]
    for (name, node) in directories[directory] ?? [:] {
      let isDirectory = directoryNodes.contains(node)
      entries[name] = isDirectory ? .directory(self.entries(of: node)) : .file(bytes(node))
    }
    return entries
  }
}
