import ArgumentParser
import Perdure
import PerdureLog

/// Shows what is in a store and what it takes.
struct StatsCommand: ConsoleCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats", abstract: "Shows what is in a store and what it takes.")

  @Argument(help: "The store's directory.")
  var path: String

  @Flag(help: "One JSON object.")
  var json = false

  func perform(on console: Console) throws -> ExitCode {
    let store = try OpenedStore(at: path)
    let report = store.engine.recoveryReport
    let statistics = Self.counts(in: try store.engine.statistics)
    let snapshot = store.engine.snapshot()
    let keyspaces = try store.engine.keyspaces.map { ($0.name, snapshot.count(in: $0)) }
    if json {
      console.print(
        JSONText.object([
          ("path", .string(path)), ("store", .string(store.engine.identifier)),
          ("closedProperly", .bool(report.wasClosed)), ("tornTailBytes", .integer(report.tornTailBytes)),
          ("statistics", .object(statistics.map { ($0.name, .number($0.value)) })),
          ("keyspaces", Self.object(keyspaces)), ("entities", Self.object(store.graph?.objectCounts ?? [])),
          ("indexes", Self.object(store.graph?.indexCounts ?? [])),
        ]).text)
      return .success
    }
    func row(_ name: String, _ value: String) {
      console.print(name + String(repeating: " ", count: max(1, 32 - name.count)) + value)
    }
    row("store", store.engine.identifier)
    row("closed properly", report.wasClosed ? "yes" : "no")
    row("torn tail bytes", "\(report.tornTailBytes)")
    for (name, value) in statistics { row(Self.words(name), value) }
    for (entity, count) in store.graph?.objectCounts ?? [] { row("objects of \(entity)", "\(count)") }
    for (name, count) in store.graph?.indexCounts ?? [] { row("entries of \(name)", "\(count)") }
    for (name, count) in store.graph == nil ? keyspaces : [] { row("keys of \(name)", "\(count)") }
    return .success
  }

  private static func object(_ counts: [(String, Int)]) -> JSONText {
    .object(counts.map { ($0.0, .integer($0.1)) })
  }

  /// Every count that the engine has, under its name; those of a part are `part.count`.
  static func counts(in statistics: Any, under prefix: String = "") -> [(name: String, value: String)] {
    Mirror(reflecting: statistics).children.flatMap { count($0.value, prefix + ($0.label ?? "")) }
  }

  private static func count(_ value: Any, _ name: String) -> [(name: String, value: String)] {
    if let number = value as? any BinaryInteger { return [(name, "\(number)")] }
    if let number = value as? Double { return number.isFinite ? [(name, "\(number)")] : [] }
    let inner = Mirror(reflecting: value)
    switch inner.displayStyle {
    case .optional: return inner.children.flatMap { count($0.value, name) }
    case .struct: return counts(in: value, under: name + ".")
    default: return []
    }
  }

  /// "logBytesSinceOpen" as "log bytes since open".
  static func words(_ name: String) -> String {
    name.reduce(into: "") { text, letter in
      if letter.isUppercase {
        text += " " + letter.lowercased()
      } else {
        text.append(letter == "." ? " " : letter)
      }
    }
  }
}
