import PerdureFileIO

extension PendingChange.Entry {
  init(_ change: NameTree.Change) {
    self.init(directory: change.directory, name: change.name, node: change.node)
  }
}

extension SimulatedFileSystem.State {
  var availableBytes: UInt64 {
    capacityBytes > usedBytes ? capacityBytes - usedBytes : 0
  }

  mutating func create(_ path: NameTree.Path, for operation: FileIOError.Operation) throws(FileIOError) {
    let change = try tree.createFile(path, for: operation)
    if let node = change.node { contents[node] = Self.content([]) }
    journal.record(.create, path.text, .create(PendingChange.Entry(change), isDirectory: false))
  }

  func file(
    at path: NameTree.Path, for operation: FileIOError.Operation
  ) throws(FileIOError) -> (NameTree.NodeID, MemoryContent) {
    let node = try tree.file(at: path, for: operation)
    guard let content = contents[node] else { preconditionFailure("A file in the tree must have content") }
    return (node, content)
  }

  /// Removes the content of a file without a name, and frees its space. Files that are still open
  /// remain usable.
  mutating func discard(_ node: NameTree.NodeID) {
    guard let content = contents.removeValue(forKey: node) else { return }
    usedBytes -= min(usedBytes, UInt64(content.count))
  }

  /// Adds the names and bytes of an image to a directory, both in this state and on the disk of the
  /// durability model.
  ///
  /// - Parameter links: The files with several names that were added before.
  mutating func load(
    _ entries: [String: CrashImage.Node], into directory: NameTree.NodeID, at path: String,
    _ disk: inout DurabilityModel, _ links: inout ImageLinks
  ) {
    for (name, node) in entries.sorted(by: { $0.key < $1.key }) {
      let inner = "\(path)/\(name)"
      switch node {
      case .file(let bytes, let link):
        if let first = links.first(of: link, otherwise: inner) {
          let id = Self.added { () throws(FileIOError) in try tree.link(.init(first), to: .init(inner)) }
          disk.placeLink(id, name, in: directory)
          continue
        }
        let id = Self.added { () throws(FileIOError) in try tree.createFile(.init(inner), for: .create) }
        contents[id] = Self.content(bytes.bytes)
        usedBytes += UInt64(bytes.bytes.count)
        disk.place(id, name, in: directory, bytes: bytes)
      case .directory(let entries):
        let id = Self.added { () throws(FileIOError) in try tree.createDirectory(.init(inner)) }
        disk.place(id, name, in: directory, bytes: nil)
        load(entries, into: id, at: inner, &disk, &links)
      }
    }
  }

  /// The current content, as an image.
  func image() -> CrashImage {
    CrashImage(root: entries(of: NameTree.root)).withNumberedLinks()
  }

  private func entries(of directory: NameTree.NodeID) -> [String: CrashImage.Node] {
    tree.entries(of: directory).mapValues { node in
      if tree.isDirectory(node) { return .directory(entries(of: node)) }
      let link = tree.linkCount(of: node) > 1 ? node : nil
      return .file(FileBytes(contents[node]?.bytes ?? []), link: link)
    }
  }

  /// Adds a name of an image. This cannot fail, because names in an image are valid and different.
  private static func added(_ add: () throws(FileIOError) -> NameTree.Change) -> NameTree.NodeID {
    do {
      if let node = try add().node { return node }
      preconditionFailure("A created name must have a node")
    } catch {
      preconditionFailure("A name of the image cannot be made: \(error)")
    }
  }

  private static func content(_ bytes: [UInt8]) -> MemoryContent {
    guard let content = MemoryContent(bytes) else { preconditionFailure("No memory left for the test") }
    return content
  }
}
