import ArgumentParser
import Perdure
import PerdureLog
import PerdureText

/// Shows the content of a store and its size.
struct StatsCommand: ConsoleCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats", abstract: "Shows the content of a store and its size.")

  @Argument(help: "The store's directory.", completion: .directory)
  var path: String

  @Flag(help: "One JSON object.")
  var json = false

  func perform(on console: Console) throws -> ExitCode {
    let store = try OpenedStore(at: path, on: console)
    let report = store.engine.recoveryReport
    let statistics = try store.engine.statistics
    let fields =
      Self.fields(of: statistics) + [("writeAmplification", Self.text(statistics.writeAmplification as Any))]
    let snapshot = store.engine.snapshot()
    let keyspaces = try store.engine.keyspaces.map { ($0.name, snapshot.count(in: $0)) }
    if json {
      try console.print(
        JSONText.object([
          ("path", .string(path)), ("store", .string(store.engine.identifier)),
          ("closedProperly", .bool(report.wasClosed)), ("tornTailBytes", .integer(report.tornTailBytes)),
          ("statistics", .object(fields)),
          ("keyspaces", Self.object(keyspaces.map { ($0, $1) })),
          ("entities", Self.object(store.graph?.objectCounts.map { ($0, $1) } ?? [])),
          ("indexes", Self.object(store.graph?.indexCounts ?? [])),
        ]).text)
      return .success
    }
    var rows = [
      ("store", store.engine.identifier), ("closed properly", report.wasClosed ? "yes" : "no"),
      ("torn tail bytes", "\(report.tornTailBytes)"),
    ]
    rows += Self.rows(fields)
    rows += store.graph?.objectCounts.map { ("objects of \($0.entity)", "\($0.count)") } ?? []
    rows +=
      store.graph?.indexCounts.map { ("entries of \($0.name)", $0.count.map { "\($0)" } ?? "not available") }
      ?? []
    if store.graph == nil { rows += keyspaces.map { ("keys of \($0.0)", "\($0.1)") } }
    for line in TextTable.lines(rows.map { [$0.0, $0.1] }, alignments: [.leading, .leading]) {
      try console.print(line)
    }
    return .success
  }

  private static func object(_ counts: [(String, Int?)]) -> JSONText {
    .object(counts.map { ($0.0, $0.1.map { .integer($0) } ?? .null) })
  }

  /// All statistics of the engine, with the property names of the engine.
  static func fields(of statistics: Any) -> [(String, JSONText)] {
    Mirror(reflecting: statistics).children.map { ($0.label ?? "", text($0.value)) }
  }

  private static func text(_ value: Any) -> JSONText {
    switch value {
    case let bool as Bool: return .bool(bool)
    case let number as any BinaryInteger: return .number("\(number)")
    case let number as Double: return .double(number)
    case let string as String: return .string(string)
    default: break
    }
    let inner = Mirror(reflecting: value)
    switch inner.displayStyle {
    case .optional: return inner.children.first.map { text($0.value) } ?? .null
    case .collection: return .array(inner.children.map { text($0.value) })
    case .struct: return .object(fields(of: value))
    default: return .string("\(value)")
    }
  }

  /// The same fields as rows. Each row has a name in words and a value. Each element of a list, and
  /// each member of an object, has its own row.
  static func rows(_ fields: [(String, JSONText)], under prefix: String = "") -> [(String, String)] {
    fields.flatMap { rows($0.1, prefix + words($0.0)) }
  }

  private static func rows(_ value: JSONText, _ name: String) -> [(String, String)] {
    switch value {
    case .null: [(name, "none")]
    case .bool(let bool): [(name, bool ? "yes" : "no")]
    case .number(let digits): [(name, digits)]
    case .string(let string): [(name, string)]
    case .object(let members): rows(members, under: name + " ")
    case .array(let elements):
      elements.isEmpty
        ? [(name, "none")] : elements.enumerated().flatMap { rows($1, "\(name) \($0 + 1)") }
    }
  }

  /// Converts "logBytesSinceOpen" to "log bytes since open".
  static func words(_ name: String) -> String {
    name.reduce(into: "") { text, letter in
      if letter.isUppercase {
        text += " " + letter.lowercased()
      } else {
        text.append(letter)
      }
    }
  }
}
