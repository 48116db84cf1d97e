import Perdure
import PerdureText

/// Texts for the requests of a model: those of templates and of fetched properties.
enum RequestText {
  /// The note about a fetched property, for the list of its entity's notes.
  static func note(_ property: FetchedPropertyDescription) -> String {
    "fetched \(property.name): \(words(property.fetchRequest)), \(property.isCached ? "cached" : "live")"
  }

  /// The notes about the templates of these entities.
  static func templates(_ model: ManagedObjectModel, _ entities: [EntityDescription]) -> [String] {
    shown(model, entities).map { template in
      let variables = (model.fetchRequestTemplateVariables(forName: template.name) ?? [:])
        .sorted { $0.key < $1.key }.map { "$\($0.key) is \($0.value)" }
      let text = (["\(template.name): \(words(template.request))"] + variables).joined(separator: "; ")
      return TextTable.cell(text, limit: ModelNotes.lengthMax)
    }
  }

  /// The templates of these entities for JSON.
  static func json(_ model: ManagedObjectModel, _ entities: [EntityDescription]) -> JSONText {
    .array(
      shown(model, entities).map { template in
        let variables = model.fetchRequestTemplateVariables(forName: template.name) ?? [:]
        return .object([
          ("name", .string(template.name)), ("request", json(template.request)),
          (
            "variables",
            .object(variables.sorted { $0.key < $1.key }.map { ($0.key, .string("\($0.value)")) })
          ),
        ])
      })
  }

  /// A fetched property for JSON.
  static func json(_ property: FetchedPropertyDescription) -> JSONText {
    .object([
      ("name", .string(property.name)), ("request", json(property.fetchRequest)),
      ("cached", .bool(property.isCached)),
      ("userInfo", .object(property.userInfo.sorted { $0.key < $1.key }.map { ($0.key, .string($0.value)) })),
    ])
  }

  private static func shown(
    _ model: ManagedObjectModel, _ entities: [EntityDescription]
  ) -> [FetchRequestTemplate] {
    let names = Set(entities.map(\.name))
    // If a later version of Perdure has stored a request, its entity may be missing from the model.
    // Only a report about all entities shows such a template.
    return model.fetchRequestTemplates.filter {
      names.contains($0.request.entityName) || entities.count == model.entities.count
    }
  }

  private static func words(_ request: FetchRequestDescription) -> String {
    let orders = request.sortDescriptors.map { $0.keyPath + ($0.isAscending ? "" : " descending") }
    var parts = [request.entityName + (request.predicateFormat.map { " where \($0)" } ?? "")]
    if !orders.isEmpty { parts.append("by \(orders.joined(separator: ", "))") }
    if request.fetchOffset > 0 { parts.append("without the first \(request.fetchOffset)") }
    if request.fetchLimit > 0 { parts.append("at most \(request.fetchLimit)") }
    if request.resultType != .managedObjects { parts.append("as \(request.resultType)") }
    return parts.joined(separator: ", ")
  }

  private static func json(_ request: FetchRequestDescription) -> JSONText {
    .object([
      ("entity", .string(request.entityName)),
      ("predicate", request.predicateFormat.map(JSONText.string) ?? .null),
      (
        "order",
        .array(
          request.sortDescriptors.map {
            .object([("path", .string($0.keyPath)), ("ascending", .bool($0.isAscending))])
          })
      ),
      ("limit", .integer(request.fetchLimit)), ("offset", .integer(request.fetchOffset)),
      ("batchSize", .integer(request.fetchBatchSize)), ("resultType", .string("\(request.resultType)")),
      ("includesSubentities", .bool(request.includesSubentities)),
      ("includesPendingChanges", .bool(request.includesPendingChanges)),
      ("includesPropertyValues", .bool(request.includesPropertyValues)),
      ("returnsObjectsAsFaults", .bool(request.returnsObjectsAsFaults)),
      ("returnsDistinctResults", .bool(request.returnsDistinctResults)),
      ("prefetch", .array(request.relationshipKeyPathsForPrefetching.map(JSONText.string))),
    ])
  }
}
