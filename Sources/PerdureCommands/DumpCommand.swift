import ArgumentParser
import Perdure
import PerdureLog

/// The store has not got what is asked for.
struct NothingToDump: Error, CustomStringConvertible {
  let description: String
}

/// Prints what a store holds: records by keyspace, or the objects of an entity.
struct DumpCommand: ConsoleCommand {
  static let configuration = CommandConfiguration(
    commandName: "dump", abstract: "Prints records: keyspace, key, commit, value; or objects.",
    discussion: """
      A line a record: keyspace, key, the sequence number of the commit that wrote it after #, and the \
      value, with tabs between. Keys are text, or 0x and hexadecimal digits; ids are numbers. With --json a \
      line is an object with the members keyspace, key, sequence and value; bytes that are not UTF-8 are \
      {"hex": "…"}. With --entity a line is an object; one that cannot be read is said to be, and the exit \
      code is 1.
      """)

  @Argument(help: "The store's directory.")
  var path: String

  @Option(help: "Only this keyspace; may be given several times.")
  var keyspace: [String] = []

  @Option(help: "Objects of this entity, instead of records.")
  var entity: String?

  @Option(help: "The first key.")
  var from: String?

  @Option(help: "The key to stop before.")
  var to: String?

  @Option(help: "Only keys that begin so (keyspaces of byte strings).")
  var prefix: String?

  @Option(help: "At most so many lines.")
  var limit = Int.max

  @Option(help: "Of each value at most so many bytes; not with --json.")
  var width = 100

  @Flag(help: "A JSON object a line.")
  var json = false

  func validate() throws {
    guard limit >= 0, width >= 0 else {
      throw ValidationError("--limit and --width take no negative numbers")
    }
    if prefix != nil, from != nil || to != nil { throw ValidationError("Give --prefix, or --from and --to") }
    if entity != nil, !keyspace.isEmpty || prefix != nil {
      throw ValidationError("With --entity only --from, --to and --limit go together")
    }
  }

  func perform(on console: Console) throws -> ExitCode {
    let store = try OpenedStore(at: path)
    if let entity { return try dumpObjects(of: entity, in: store, console) }
    try dumpRecords(of: store.engine, console)
    return .success
  }

  // MARK: - Records

  private func dumpRecords(of store: Store, _ console: Console) throws {
    let all = try store.keyspaces
    for name in keyspace where !all.contains(where: { $0.name == name }) {
      throw NothingToDump(
        description: "There is no keyspace \(name): the store has \(all.map(\.name).joined(separator: ", "))")
    }
    let snapshot = store.snapshot()
    var numbers = CommitNumbers(snapshot)
    var left = limit
    for keyspace in all where self.keyspace.isEmpty || self.keyspace.contains(keyspace.name) {
      guard left > 0 else { return }
      func show(_ key: Key, _ value: RawSpan) throws -> Bool {
        let version = try snapshot.version(key, in: keyspace)
        let sequence = version.flatMap { numbers.sequence(of: $0) }
        console.print(line(keyspace, key, sequence, value.withUnsafeBytes { Array($0) }))
        left -= 1
        return left > 0
      }
      switch keyspace.kind {
      case .dense:
        guard let ids = try ids() else { continue }
        try snapshot.forEach(in: keyspace, ids: ids) { id, value in try show(.id(id), value) }
      case .bytes:
        try snapshot.forEach(in: keyspace, range: try range()) { key, value in
          try show(.bytes(key.withUnsafeBytes { Array($0) }), value)
        }
      }
    }
  }

  private func line(_ keyspace: Keyspace, _ key: Key, _ sequence: UInt64?, _ value: [UInt8]) -> String {
    if json {
      let keyText: JSONText =
        switch key {
        case .id(let id): .integer(id)
        case .bytes(let bytes): .bytes(bytes)
        }
      return JSONText.object([
        ("keyspace", .string(keyspace.name)), ("key", keyText),
        ("sequence", sequence.map { .integer($0) } ?? .null), ("value", .bytes(value)),
      ]).text
    }
    let keyText =
      switch key {
      case .id(let id): "\(id)"
      case .bytes(let bytes): KeyText.key(bytes)
      }
    let number = sequence.map { "#\($0)" } ?? "#?"
    return [keyspace.name, keyText, number, KeyText.value(value, limit: width)].joined(separator: "\t")
  }

  private func range() throws -> PerdureLog.KeyRange {
    if let prefix { return .prefix(try KeyText.bytes(prefix)) }
    return PerdureLog.KeyRange(lower: try from.map(KeyText.bytes) ?? [], upper: try to.map(KeyText.bytes))
  }

  /// nil for no ids.
  private func ids() throws -> ClosedRange<UInt64>? {
    guard prefix == nil else { return nil }
    let lower = try from.map(KeyText.id) ?? 0
    guard let to = try to.map(KeyText.id) else { return lower ... .max }
    return lower < to ? lower...(to - 1) : nil
  }

  // MARK: - Objects

  /// Objects that cannot be read are findings: they are said, and the next one follows.
  private func dumpObjects(
    of entity: String, in store: OpenedStore, _ console: Console
  ) throws -> ExitCode {
    guard let graph = store.graph else {
      throw NothingToDump(
        description: "The store holds no objects; leave --entity out to see its records")
    }
    guard let ids = try ids(), limit > 0 else { return .success }
    var left = limit
    var code = ExitCode.success
    let isKnown = try graph.forEachObject(of: entity, ids: ids) { object in
      console.print(line(object))
      if object.problem != nil { code = .findings }
      left -= 1
      return left > 0
    }
    if !isKnown {
      let names = graph.objectCounts.map(\.entity).joined(separator: ", ")
      throw NothingToDump(description: "There is no entity \(entity): the model has \(names)")
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
        ("properties", .object(object.properties.map { ($0.name, Self.text($0.value)) })),
      ]).text
    }
    if let problem = object.problem { return "\(object.entity)/p\(object.id)\tcannot be read: \(problem)" }
    let properties = object.properties.map { "\($0.name)=\(Self.text($0.value).text)" }
    return (["\(object.entity)/p\(object.id)"] + properties).joined(separator: "\t")
  }

  private static func text(_ property: InspectedObject.Property) -> JSONText {
    switch property {
    case .none: .null
    case .bool(let value): .bool(value)
    case .integer(let value): .integer(value)
    case .double(let value): .double(value)
    case .text(let value): .string(value)
    case .data(let value): .bytes(value)
    case .object(let entity, let id): .string("\(entity)/p\(id)")
    }
  }
}
