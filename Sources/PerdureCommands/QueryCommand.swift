import ArgumentParser
import Perdure
import PerdureText

/// Prints the objects of an entity that satisfy a predicate.
struct QueryCommand: ConsoleCommand {
  /// The output format of the results.
  enum Format: String, CaseIterable, ExpressibleByArgument {
    case table, json, csv
  }

  static let configuration = CommandConfiguration(
    commandName: "query", abstract: "Prints the objects that a predicate selects.",
    discussion: """
      The predicate is written as for a fetch request, for example:

        perdure query Staff.perdure Worker "salary > 1000" \\
          --order "company.name, salary desc" \\
          --columns name,salary,company.name --limit 20

      A column is a path of properties, with @count, @sum, @min, @max or @avg at the end of a path through a to-many \
      relationship. The column objectID prints the object, for example Worker/p1. By default, the columns are \
      objectID and all properties except to-many relationships. Property names are those of the stored model \
      (`perdure model show`).

      --template runs a fetch request template of the stored model, for example:

        perdure query Staff.perdure --template rich --variable least=1000

      Each variable of the template needs a value. Write it as in CSV: a number, a text, true, a date such as \
      2026-01-31T12:00:00Z, 0x00ff, or an object such as Worker/p1. A name without "=value" passes nil. For a list, repeat \
      --variable once for each element. --order, --limit and --offset replace those of the template.

      A table truncates long values. JSON has one object per line, with whole values; bytes are {"hex": "…"}. \
      CSV has whole values too; bytes are 0x and hexadecimal digits, an absent value is an empty field, and an \
      empty text is "".

      Objects are printed as they are found. If no index gives the order, the keys of all objects are sorted first.

      Exit codes: 0 done; 2 the store could not be opened or read, or the query does not fit its model; 64 the \
      predicate or an option cannot be parsed.
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var path: String

  @Argument(help: "The entity; not with --template.", completion: EntityCompletion.kind)
  var entity: String?

  @Argument(help: "The predicate. (default: all objects)")
  var predicate: String?

  @Option(help: ArgumentHelp("A fetch request template of the stored model.", valueName: "name"))
  var template: String?

  @Option(
    help: ArgumentHelp("The value of a variable of the template, as name=value.", valueName: "variable"))
  var variable: [TemplateVariable] = []

  @Option(help: ArgumentHelp("Paths to sort by, each followed by asc or desc.", valueName: "paths"))
  var order: [String] = []

  @Option(help: ArgumentHelp("Paths of the values to print.", valueName: "paths"))
  var columns: [String] = []

  @Option(help: "The maximum number of objects. (default: all)")
  var limit: Int?

  @Option(help: "The number of objects to skip. (default: 0)")
  var offset: Int?

  @Option(help: "How results are written.")
  var format = Format.table

  @Option(help: "The maximum number of characters of each value; only in a table.")
  var width = 40

  var json: Bool { format == .json }

  func validate() throws {
    guard limit ?? 0 >= 0, offset ?? 0 >= 0, width > 0 else {
      throw ValidationError("--limit and --offset must not be negative, and --width must be at least 1")
    }
    if (Self.names(columns) + Self.names(order)).contains("") {
      throw ValidationError("--columns and --order must not contain an empty path")
    }
    switch (entity, template) {
    case (nil, nil): throw ValidationError("Name an entity, or a fetch request template with --template.")
    case (_?, _?):
      throw ValidationError(
        "The template already has an entity and a predicate. Write either --template, or an entity and a predicate."
      )
    case (_?, nil) where !variable.isEmpty:
      throw ValidationError("--variable is for a template. Write the value in the predicate.")
    default: break
    }
    do { _ = try (predicate.map { try FetchPredicate(format: $0) }, criteria()) } catch {
      throw ValidationError("\(error)")
    }
  }

  func perform(on console: Console) throws -> ExitCode {
    let store = try OpenedStore(at: path, on: console, checksIndex: false)
    guard let graph = store.graph else { throw NoGraph(path: path) }
    let results = try graph.results(of: try query(of: graph))
    var output = try QueryOutput(format, results.columns, width: width, console)
    try results.forEach { values in
      try output.add(values)
      return true
    }
    try output.end()
    return .success
  }

  private func query(of graph: StoreInspection) throws -> InspectionQuery {
    var query = InspectionQuery(entity: entity ?? "")
    if let template {
      query = try TemplateQuery(graph: graph, template: template).query(variable)
    } else {
      query.predicate = try predicate.map { try FetchPredicate(format: $0) }
    }
    if !order.isEmpty { query.order = try criteria() }
    query.columns = Self.names(columns)
    query.limit = limit ?? query.limit
    query.offset = offset ?? query.offset
    return query
  }

  private func criteria() throws -> [FetchOrder] { try Self.names(order).map(Self.criterion) }

  /// The names in options, which are separated by commas.
  private static func names(_ options: [String]) -> [String] {
    options.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }.map { name in
      name.drop { $0 == " " }.withoutSpacesAtEnd
    }
  }

  /// Parses a sort criterion such as "salary desc".
  private static func criterion(_ text: String) throws -> FetchOrder {
    let words = text.split(separator: " ")
    switch (words.count, words.last?.lowercased()) {
    case (1, _), (2, "asc"): return FetchOrder(String(words[0]))
    case (2, "desc"): return FetchOrder(String(words[0]), ascending: false)
    default:
      throw ValidationError("\"\(text)\" is not a path to sort by. Write a path, followed by asc or desc.")
    }
  }
}

/// A command for objects was used on a store of keys and values.
struct NoGraph: Error, CustomStringConvertible {
  let path: String

  var description: String {
    "The store \(path) has no objects. `perdure dump` prints its records."
  }
}
