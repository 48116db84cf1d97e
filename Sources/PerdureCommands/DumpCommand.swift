import ArgumentParser
import Perdure
import PerdureLog
import PerdureText

/// The store does not contain the requested keyspace, entity or objects.
struct NotInStore: Error, CustomStringConvertible {
  let description: String

  /// The error for a name that does not exist in the store.
  static func unknown(
    _ kind: String, _ name: String, _ names: [String], near: (String, [String]) -> [String]
  ) -> NotInStore {
    let hint = NearMisses.question(near(name, names))
    return NotInStore(
      description: "The store has no \(kind) \(name).\(hint) It has \(names.joined(separator: ", "))")
  }
}

/// Prints the content of a store: the records by keyspace, or the objects of an entity.
struct DumpCommand: ConsoleCommand {
  static let configuration = CommandConfiguration(
    commandName: "dump", abstract: "Prints records (keyspace, key, commit, value) or objects of a store.",
    discussion: """
      Each record is one line with four columns, separated by tabs: keyspace, key, # with the sequence number of \
      the commit that wrote it, and value. Keys are text, or 0x and hexadecimal digits; ids are numbers. With \
      --json each line is a JSON object with the members keyspace, key, sequence and value; bytes that are not \
      UTF-8 are {"hex": "…"}. With --entity each line is an object of the graph; attributes of type Data are \
      always {"hex": "…"}. To-many relationships are omitted. For a one-to-many relationship, each object at the \
      other end contains a reference to this object. Many-to-many links are separate records, in keyspaces whose \
      names begin with link/.

      If a record or object cannot be read, its line and the error stream contain the reason. With --json, the \
      reason is the member problem. The command then continues with the next one. Exit codes: 0 all was read; 1 some \
      could not be read; 2 the store could not be opened, does not have the keyspace or entity, or has a damaged \
      index, so that the output is incomplete.
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var path: String

  @Option(help: "Only this keyspace; may be given several times.")
  var keyspace: [String] = []

  @Option(help: "Objects of this entity, instead of records.", completion: EntityCompletion.kind)
  var entity: String?

  @Option(help: "The first key.")
  var from: String?

  @Option(help: "The key to stop before.")
  var to: String?

  @Option(help: "Only keys that begin with this text; for keyspaces of byte strings.")
  var prefix: String?

  @Option(help: "The maximum number of lines. (default: all)")
  var limit: Int?

  @Option(help: "The maximum number of bytes of each value; not with --json.")
  var width = 100

  @Flag(help: "One JSON object per line.")
  var json = false

  func validate() throws {
    guard limit ?? 0 >= 0, width >= 0 else {
      throw ValidationError("--limit and --width must not be negative")
    }
    if prefix != nil, from != nil || to != nil {
      throw ValidationError("--prefix cannot be combined with --from or --to")
    }
    if entity != nil, !keyspace.isEmpty || prefix != nil {
      throw ValidationError("--entity can be combined only with --from, --to and --limit")
    }
  }

  func perform(on console: Console) throws -> ExitCode {
    let store = try OpenedStore(at: path, on: console)
    if let entity { return try dumpObjects(of: entity, in: store, console) }
    return try dumpRecords(of: store.engine, console)
  }

  // MARK: - Records

  /// Prints records. The keys come from the index, so the command continues after an unreadable
  /// record.
  private func dumpRecords(of store: Store, _ console: Console) throws -> ExitCode {
    let all = try store.keyspaces
    for name in keyspace where !all.contains(where: { $0.name == name }) {
      throw NotInStore.unknown("keyspace", name, all.map(\.name), near: NearMisses.of)
    }
    let snapshot = store.snapshot()
    var numbers = CommitNumbers(snapshot)
    var left = limit ?? .max
    var code = ExitCode.success
    for keyspace in all where self.keyspace.isEmpty || self.keyspace.contains(keyspace.name) {
      guard left > 0 else { return code }
      func show(_ key: Key) throws -> Bool {
        let text: String
        do {
          text = try line(keyspace, key, in: snapshot, &numbers)
        } catch {
          code = .findings
          text = line(keyspace, key, unreadable: error)
          console.failure("\(keyspace.name) \(Self.text(of: key)) cannot be read: \(error)")
        }
        try console.print(text)
        left -= 1
        return left > 0
      }
      switch keyspace.kind {
      case .dense:
        guard let ids = try ids() else { continue }
        try snapshot.visitIDs(keyspace, from: ids.lowerBound) { id in
          guard id <= ids.upperBound else { return false }
          return try show(.id(id))
        }
      case .bytes:
        try snapshot.forEachKey(in: keyspace, range: try range()) { key in
          try show(.bytes(key.withUnsafeBytes { Array($0) }))
        }
      }
    }
    return code
  }

  private func line(
    _ keyspace: Keyspace, _ key: Key, in snapshot: Snapshot, _ numbers: inout CommitNumbers
  ) throws -> String {
    let value =
      switch key {
      case .id(let id): try snapshot.value(id: id, in: keyspace) ?? []
      case .bytes(let bytes): try snapshot.value(key: bytes, in: keyspace) ?? []
      }
    let sequence = try snapshot.version(key, in: keyspace).flatMap { numbers.sequence(of: $0) }
    if json {
      return JSONText.object([
        ("keyspace", .string(keyspace.name)), ("key", Self.json(of: key)),
        ("sequence", sequence.map { .integer($0) } ?? .null), ("value", .bytes(value)),
      ]).text
    }
    let number = sequence.map { "#\($0)" } ?? "#?"
    return [keyspace.name, Self.text(of: key), number, KeyText.value(value, limit: width)]
      .joined(separator: "\t")
  }

  private func line(_ keyspace: Keyspace, _ key: Key, unreadable error: any Error) -> String {
    if json {
      return JSONText.object([
        ("keyspace", .string(keyspace.name)), ("key", Self.json(of: key)), ("problem", .string("\(error)")),
      ]).text
    }
    return [keyspace.name, Self.text(of: key), "#?", "cannot be read: \(error)"].joined(separator: "\t")
  }

  private static func json(of key: Key) -> JSONText {
    switch key {
    case .id(let id): .integer(id)
    case .bytes(let bytes): .bytes(bytes)
    }
  }

  private static func text(of key: Key) -> String {
    switch key {
    case .id(let id): "\(id)"
    case .bytes(let bytes): KeyText.key(bytes)
    }
  }

  private func range() throws -> PerdureLog.KeyRange {
    if let prefix { return .prefix(try KeyText.bytes(prefix)) }
    return PerdureLog.KeyRange(lower: try from.map(KeyText.bytes) ?? [], upper: try to.map(KeyText.bytes))
  }

  /// The range of ids to print; nil if it is empty, or if `--prefix` selects byte strings.
  private func ids() throws -> ClosedRange<UInt64>? {
    guard prefix == nil else { return nil }
    let lower = try from.map(KeyText.id) ?? 0
    guard let to = try to.map(KeyText.id) else { return lower ... .max }
    return lower < to ? lower...(to - 1) : nil
  }

  // MARK: - Objects

  /// Prints objects. Unreadable objects are reported as findings, and the next object follows.
  private func dumpObjects(
    of entity: String, in store: OpenedStore, _ console: Console
  ) throws -> ExitCode {
    guard let graph = store.graph else {
      throw NotInStore(
        description: "The store has no objects; omit --entity to see its records")
    }
    let ids = try ids()
    var left = ids == nil ? 0 : limit ?? .max
    var code = ExitCode.success
    let isKnown = try graph.forEachObject(of: entity, ids: ids ?? 0...0) { object in
      if left == 0 { return false }
      try console.print(line(object))
      if let problem = object.problem {
        code = .findings
        console.failure("\(object.entity)/p\(object.id) cannot be read: \(problem)")
      }
      left -= 1
      return left > 0
    }
    if !isKnown {
      throw NotInStore.unknown("entity", entity, graph.objectCounts.map(\.entity)) { name, _ in
        graph.entities(like: name)
      }
    }
    return code
  }

  private func line(_ object: InspectedObject) -> String {
    if json {
      if let problem = object.problem {
        return JSONText.object([
          ("entity", .string(object.entity)), ("id", .integer(object.id)), ("problem", .string(problem)),
        ]).text
      }
      return JSONText.object([
        ("entity", .string(object.entity)), ("id", .integer(object.id)),
        ("properties", .object(object.properties.map { ($0.name, $0.value.json) })),
      ]).text
    }
    if let problem = object.problem { return "\(object.entity)/p\(object.id)\tcannot be read: \(problem)" }
    let properties = object.properties.map { "\($0.name)=\($0.value.json.text)" }
    return (["\(object.entity)/p\(object.id)"] + properties).joined(separator: "\t")
  }
}
