import ArgumentParser
import Perdure
import PerdureText

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The value of a variable on the command line: `name=value`. A name without "=value" passes nil.
struct TemplateVariable: ExpressibleByArgument {
  let name: String
  let text: String?

  init?(argument: String) {
    let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard let name = parts.first, !name.isEmpty else { return nil }
    self.name = String(name)
    text = parts.count == 2 ? String(parts[1]) : nil
  }
}

/// Makes a query from a fetch request template of the stored model.
struct TemplateQuery {
  let graph: StoreInspection
  let template: String

  /// Returns the query with values for the variables of the template.
  ///
  /// - Throws: `TemplateVariableError` with every variable whose values are not valid;
  ///   `FetchTemplateError` if the model has no such template, or the template cannot be used.
  func query(_ variables: [TemplateVariable]) throws -> InspectionQuery {
    var values: [String: (any PredicateArgument)?] = [:]
    if let types = graph.model.fetchRequestTemplateVariables(forName: template) {
      values = try self.values(variables, types)
    }
    let request = try graph.model.fetchRequestFromTemplate(
      withName: template, substitutionVariables: values)
    var query = InspectionQuery(entity: request.entityName ?? "")
    (query.predicate, query.order) = (request.predicate, request.sortDescriptors)
    query.includesSubentities = request.includesSubentities
    if request.fetchLimit > 0 { query.limit = request.fetchLimit }
    query.offset = request.fetchOffset
    return query
  }

  private func values(
    _ variables: [TemplateVariable], _ types: [String: FetchVariableType]
  ) throws(TemplateVariableError) -> [String: (any PredicateArgument)?] {
    let given = Dictionary(grouping: variables, by: \.name).mapValues { $0.map(\.text) }
    var values: [String: (any PredicateArgument)?] = [:]
    var problems: [TemplateVariableError.Problem] = []
    for name in Set(types.keys).union(given.keys).sorted() {
      do throws(TemplateVariableError.Problem) {
        guard let type = types[name] else { throw .unknown(name, types.keys.sorted()) }
        guard let texts = given[name] else { throw .missing(name, type) }
        values[name] = try value(of: name, texts, type)
      } catch {
        problems.append(error)
      }
    }
    guard problems.isEmpty else { throw TemplateVariableError(template: template, problems: problems) }
    return values
  }

  /// - Parameter texts: The values of the variable on the command line; at least one.
  private func value(
    of name: String, _ texts: [String?], _ type: FetchVariableType
  ) throws(TemplateVariableError.Problem) -> Value {
    if texts == [nil] { return .null }
    var elements: [Value] = []
    for text in texts {
      guard let value = VariableText(type: type.element).value(text, in: graph) else {
        throw .unreadable(name, text ?? "", type)
      }
      elements.append(value)
    }
    if case .list = type { return .list(elements) }
    guard elements.count == 1 else { throw .repeated(name, type) }
    return elements[0]
  }
}

/// Reads values of one type that is not a list.
private struct VariableText {
  let type: FetchVariableType

  /// - Parameter text: nil for no value.
  /// - Returns: nil if the text does not represent a value of the type.
  func value(_ text: String?, in graph: StoreInspection) -> Value? {
    guard let text else { return .null }
    return switch type {
    case .object(let entity): object(text, of: entity, in: graph)
    case .attribute(.objectID): graph.reference(text).map { .reference($0) }
    case .attribute(let type): value(text, of: type)
    case .any, .list: number(text) ?? .string(text)
    }
  }

  /// Reads an object of the entity, of a subentity, or of a superentity.
  private func object(_ text: String, of entity: String, in graph: StoreInspection) -> Value? {
    let entities = graph.model.entitiesByName
    guard let wanted = entities[entity], let own = entities[String(text.prefix { $0 != "/" })],
      own.isKind(of: wanted) || wanted.isKind(of: own)
    else { return nil }
    return graph.reference(text).map { .reference($0) }
  }

  private func value(_ text: String, of type: AttributeType) -> Value? {
    switch type {
    case .int16, .int32, .int64, .double, .float, .decimal: number(text)
    case .boolean: ["true": .bool(true), "false": .bool(false)][text]
    case .string: .string(text)
    case .date: date(text).map { .date($0) }
    case .uuid: UUID(uuidString: text).map { .uuid($0) }
    case .binary, .transformable:
      text.hasPrefix("0x") ? Hexadecimal.bytes(text.dropFirst(2)).map { .data(Data($0)) } : nil
    case .uri: URL(string: text).map { .url($0) }
    case .undefined, .objectID: nil
    }
  }

  /// Reads a number, in the form that predicates use; nil if the text is not a number.
  private func number(_ text: String) -> Value? {
    if let whole = Int64(text) { return .integer(whole) }
    guard let number = Double(text), number.isFinite, !text.lowercased().contains("x") else { return nil }
    if type == .attribute(.decimal) { return Decimal(string: text).map { .decimal($0) } }
    return .double(number)
  }

  private func date(_ text: String) -> Date? {
    [true, false].lazy.map { Date.ISO8601FormatStyle(includingFractionalSeconds: $0) }.compactMap { style in
      // Unlike parse(_:), this finds the end of the date.
      let read = try? style.consuming(text, startingAt: text.startIndex, in: text.startIndex..<text.endIndex)
      return read?.upperBound == text.endIndex ? read?.output : nil
    }.first
  }
}

extension FetchVariableType {
  /// The type of one value on the command line: for a list, that of its elements.
  fileprivate var element: FetchVariableType {
    if case .list(let element) = self { element } else { self }
  }

  /// An example of a value in the form of the command line.
  fileprivate var example: String {
    switch self {
    case .object(let entity): "\(entity)/p1"
    case .list(let element): element.example
    case .any: "1"
    case .attribute(let type):
      switch type {
      case .int16, .int32, .int64, .undefined: "1"
      case .double, .float, .decimal: "1.5"
      case .boolean: "true"
      case .string: "text"
      case .date: "2026-01-31T12:00:00Z"
      case .uuid: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
      case .binary, .transformable: "0x00ff"
      case .uri: "https://example.org"
      case .objectID: "Worker/p1"
      }
    }
  }
}

/// The error if values on the command line do not match the variables of a template.
struct TemplateVariableError: Error, Equatable, CustomStringConvertible {
  /// A variable whose values are missing or not valid, or that the template does not have.
  enum Problem: Error, Equatable {
    case missing(String, FetchVariableType)
    /// The template lacks this variable. The list has the variables of the template.
    case unknown(String, [String])
    case unreadable(String, String, FetchVariableType)
    case repeated(String, FetchVariableType)
  }

  let template: String
  /// The problems, in the order of the names of the variables.
  let problems: [Problem]

  var description: String {
    ([
      "The values on the command line do not match the variables of the fetch request template \"\(template)\"."
    ] + problems.map { "- \($0)" })
    .joined(separator: "\n")
  }
}

extension TemplateVariableError.Problem: CustomStringConvertible {
  var description: String {
    switch self {
    case .missing(let name, let type):
      "$\(name) has no value. It is \(type): --variable \(name)=\(type.example)"
    case .unknown(let name, let known):
      "The template has no variable $\(name). It has "
        + "\(known.isEmpty ? "none" : known.map { "$\($0)" }.joined(separator: ", "))."
        + NearMisses.question(name, in: known)
    case .unreadable(let name, let text, let type):
      "The value \(TextTable.cell(text, limit: 40)) is not valid for $\(name). $\(name) is \(type): "
        + "--variable \(name)=\(type.example)"
    case .repeated(let name, let type):
      "$\(name) has several values. It is \(type): --variable \(name)=\(type.example)"
    }
  }
}
