// The names of a file system in memory, as a value. The tree contains no bytes of files.
//
// Invariants:
//   NT1  Exactly one entry names each directory, except the root, which has none. One or more
//        entries (hard links) name each file; the file's node counts them.
//   NT2  Node numbers are never reused, so a number always means the same file or directory.

/// Directories, the names in them, and the numbers of the named nodes.
package struct NameTree: Sendable {
  package typealias NodeID = UInt64

  /// The directory entry to which a path refers. `node` is nil if the entry does not exist. For the
  /// root, `directory` is the root itself.
  package struct Place: Sendable, Hashable {
    package var directory: NodeID
    package var name: String
    package var node: NodeID?
  }

  /// A changed entry. It now names `node`. If `node` is nil, the entry was removed.
  package struct Change: Sendable, Hashable {
    package var directory: NodeID
    package var name: String
    package var node: NodeID?
  }

  /// A path and the directory at which it starts.
  package struct Path: Sendable {
    let base: NodeID
    /// The names to follow from `base`.
    let steps: String
    /// The whole path, for messages.
    package let text: String

    /// A path from the root.
    package init(_ text: String) { (base, steps, self.text) = (root, text, text) }

    /// A name in a directory. The directory may have been moved.
    package init(_ name: String, in directory: NodeID, of path: String) {
      (base, steps, text) = (directory, name, path + "/" + name)
    }
  }

  private enum Node {
    case file(linkCount: Int)
    case directory([String: NodeID])
  }

  package static let root: NodeID = 0

  private static let nameLengthMax = 255

  private var nodes: [NodeID: Node] = [root: .directory([:])]
  private var nextNode: NodeID = 1

  package init() {}
}

// Lookup.
extension NameTree {
  /// Follows a path. Only the last name may be missing.
  package func place(of path: Path, for operation: FileIOError.Operation) throws(FileIOError) -> Place {
    let names = try Self.names(in: path, for: operation)
    // An open directory that was removed contains no names.
    guard nodes[path.base] != nil else {
      throw FileIOError(.notFound, operation: operation, path: path.text)
    }
    var place = Place(directory: path.base, name: "", node: path.base)
    for name in names {
      guard let node = place.node else { throw FileIOError(.notFound, operation: operation, path: path.text) }
      guard case .directory(let entries)? = nodes[node] else {
        throw FileIOError(.notADirectory, operation: operation, path: path.text)
      }
      place = Place(directory: node, name: name, node: entries[name])
    }
    return place
  }

  /// The node at a path. It must exist.
  package func node(at path: Path, for operation: FileIOError.Operation) throws(FileIOError) -> NodeID {
    guard let node = try place(of: path, for: operation).node else {
      throw FileIOError(.notFound, operation: operation, path: path.text)
    }
    return node
  }

  /// The file at a path.
  package func file(at path: Path, for operation: FileIOError.Operation) throws(FileIOError) -> NodeID {
    let node = try node(at: path, for: operation)
    guard !isDirectory(node) else { throw FileIOError(.isADirectory, operation: operation, path: path.text) }
    return node
  }

  /// The directory at a path.
  package func directory(at path: Path, for operation: FileIOError.Operation) throws(FileIOError) -> NodeID {
    let node = try node(at: path, for: operation)
    guard isDirectory(node) else { throw FileIOError(.notADirectory, operation: operation, path: path.text) }
    return node
  }

  package func isDirectory(_ node: NodeID) -> Bool {
    if case .directory? = nodes[node] { true } else { false }
  }

  package func kind(of path: Path) throws(FileIOError) -> FileKind? {
    do {
      return try place(of: path, for: .kind).node.map { isDirectory($0) ? .directory : .file }
    } catch {
      if error.code == .notFound { return nil }
      throw error
    }
  }

  /// The number of entries that name a file; 0 if it has lost its last name.
  package func linkCount(of file: NodeID) -> Int {
    if case .file(let count)? = nodes[file] { count } else { 0 }
  }

  /// The entries of a directory.
  package func entries(of directory: NodeID) -> [String: NodeID] {
    guard case .directory(let entries)? = nodes[directory] else { return [:] }
    return entries
  }

  /// The names in the directory at `path`, sorted by their bytes.
  package func contents(of path: Path) throws(FileIOError) -> [String] {
    names(in: try directory(at: path, for: .contents))
  }

  /// The names in a directory, sorted by their bytes; none if the directory does not exist.
  package func names(in directory: NodeID) -> [String] {
    entries(of: directory).keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  /// Whether a path refers to a node.
  package func isNamed(_ node: NodeID, _ path: Path) -> Bool {
    (try? place(of: path, for: .lock))?.node == node
  }

  /// The names in the path, with `.` and empty names removed and `..` resolved.
  private static func names(in path: Path, for operation: FileIOError.Operation) throws(FileIOError)
    -> [String]
  {
    guard !path.steps.isEmpty else { throw FileIOError(.notFound, operation: operation, path: path.text) }
    guard !path.steps.utf8.contains(0) else {
      throw FileIOError(.invalidArgument, operation: operation, path: path.text)
    }
    var names: [String] = []
    for name in path.steps.split(separator: "/") where name != "." {
      guard name.utf8.count <= nameLengthMax else {
        throw FileIOError(.nameTooLong, operation: operation, path: path.text)
      }
      if name == ".." { _ = names.popLast() } else { names.append(String(name)) }
    }
    return names
  }
}

// Changes. Each function checks everything before it changes anything.
extension NameTree {
  package mutating func createFile(_ path: Path, for operation: FileIOError.Operation) throws(FileIOError)
    -> Change
  {
    try create(.file(linkCount: 1), path, for: operation)
  }

  package mutating func createDirectory(_ path: Path) throws(FileIOError) -> Change {
    try create(.directory([:]), path, for: .createDirectory)
  }

  private mutating func create(_ node: Node, _ path: Path, for operation: FileIOError.Operation)
    throws(FileIOError) -> Change
  {
    let place = try place(of: path, for: operation)
    guard place.node == nil else { throw FileIOError(.alreadyExists, operation: operation, path: path.text) }
    let id = nextNode
    nextNode += 1
    nodes[id] = node
    let change = Change(directory: place.directory, name: place.name, node: id)
    apply(change)
    return change
  }

  /// Adds a name to a file.
  package mutating func link(_ source: Path, to name: Path) throws(FileIOError) -> Change {
    let node = try file(at: source, for: .link)
    let place = try place(of: name, for: .link)
    guard place.node == nil else { throw FileIOError(.alreadyExists, operation: .link, path: name.text) }
    nodes[node] = .file(linkCount: linkCount(of: node) + 1)
    let change = Change(directory: place.directory, name: place.name, node: node)
    apply(change)
    return change
  }

  /// - Returns: The removed entry. Also the node that it named, if the node is no longer in the
  ///   tree.
  package mutating func remove(_ path: Path) throws(FileIOError) -> (change: Change, removed: NodeID?) {
    let place = try place(of: path, for: .remove)
    guard let node = place.node else { throw FileIOError(.notFound, operation: .remove, path: path.text) }
    guard node != Self.root else { throw FileIOError(.busy, operation: .remove, path: path.text) }
    guard entries(of: node).isEmpty else {
      throw FileIOError(.directoryNotEmpty, operation: .remove, path: path.text)
    }
    let change = Change(directory: place.directory, name: place.name, node: nil)
    apply(change)
    return (change, unname(node) ? node : nil)
  }

  /// Subtracts one from the link count of a node. If it was the last name, removes the node from
  /// the tree and returns true.
  private mutating func unname(_ node: NodeID) -> Bool {
    let count = linkCount(of: node)
    nodes[node] = count > 1 ? .file(linkCount: count - 1) : nil
    return count <= 1
  }

  /// - Returns: The entry that was set, then the entry that was removed; no entries if both paths
  ///   refer to the same node. Also the replaced node, if it is no longer in the tree.
  package mutating func rename(_ source: Path, to destination: Path)
    throws(FileIOError) -> (changes: [Change], replaced: NodeID?)
  {
    let from = try place(of: source, for: .rename)
    let to = try place(of: destination, for: .rename)
    guard let node = from.node else { throw FileIOError(.notFound, operation: .rename, path: source.text) }
    if to.node == node { return ([], nil) }
    try checkRename(of: node, to: to, path: destination)
    let changes = [
      Change(directory: to.directory, name: to.name, node: node),
      Change(directory: from.directory, name: from.name, node: nil),
    ]
    for change in changes { apply(change) }
    guard let replaced = to.node, unname(replaced) else { return (changes, nil) }
    return (changes, replaced)
  }

  private func checkRename(of node: NodeID, to place: Place, path: Path) throws(FileIOError) {
    let code: FileIOError.Code? =
      if node == Self.root || place.node == Self.root {
        .busy
      } else if isDirectory(node) && contains(place.directory, below: node) {
        .invalidArgument
      } else if let replaced = place.node {
        refusal(of: node, replacing: replaced)
      } else {
        nil
      }
    if let code { throw FileIOError(code, operation: .rename, path: path.text) }
  }

  private func refusal(of node: NodeID, replacing replaced: NodeID) -> FileIOError.Code? {
    switch (isDirectory(node), isDirectory(replaced)) {
    case (false, true): .isADirectory
    case (true, false): .notADirectory
    case (true, true): entries(of: replaced).isEmpty ? nil : .directoryNotEmpty
    case (false, false): nil
    }
  }

  private func contains(_ node: NodeID, below directory: NodeID) -> Bool {
    node == directory || entries(of: directory).values.contains { contains(node, below: $0) }
  }

  private mutating func apply(_ change: Change) {
    var entries = entries(of: change.directory)
    // Release the stored copy, so that the dictionary is changed in place.
    nodes[change.directory] = .directory([:])
    entries[change.name] = change.node
    nodes[change.directory] = .directory(entries)
  }
}
