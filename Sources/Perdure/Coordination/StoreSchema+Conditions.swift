// Conditions of partial indexes: their names, and the form in which they are planned and compiled.
//
// What an index holds depends on its condition, so the name has a digest of it, and the definition in the engine's
// catalog all of it: another condition makes another index. Both are by numbers of properties, so that a property can
// be renamed.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension IndexCondition {
  /// - Parameter number: The number of a property by its name.
  init(_ predicate: FetchPredicate, number: (String) -> UInt32?) {
    self.predicate = predicate
    text = predicate.renaming { name in number(name).map { "p\($0)" } ?? name }.predicateFormat
  }

  /// What stands behind the name of an index with this condition.
  var suffix: String { "?" + Self.digest(of: text) }

  /// 16 digits that stand for a text: FNV-1a.
  fileprivate static func digest(of text: String) -> String {
    let digest = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    let digits = String(digest, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

extension IndexDefinition {
  /// All that the content of the index depends on, but for what a stored model says of properties for ever.
  var parameters: [UInt8] {
    let older =
      standIns.isEmpty ? "" : " default \(IndexCondition.digest(of: standIns.joined(separator: ", ")))"
    return Array((name + older + (condition.map { " where \($0.text)" } ?? "")).utf8)
  }

  /// The name of an index in its parameters. No name has a space.
  static func name(inParameters text: String) -> String {
    String(text.prefix { $0 != " " })
  }
}

extension StoreSchema {
  /// The schema with the conditions of its indexes in the form that requests have (PreparedFetch), which needs to know
  /// all entities.
  func foldingConditions() -> StoreSchema {
    if indexes.allSatisfy({ $0.condition == nil }) { return self }
    let folded = indexes.map { definition in
      guard let condition = definition.condition, let number = definition.entities.first else {
        return definition
      }
      let entity = entity(number)
      let named = CompositePaths(schema: self, entity: entity)?.joined(condition.predicate)
      let predicate = ConstantFitting(schema: self, entity: entity).fit(named ?? condition.predicate)
        .folded(now: Date(timeIntervalSinceReferenceDate: 0))
      return IndexDefinition(
        name: definition.name, kind: definition.kind, entities: definition.entities,
        condition: IndexCondition(predicate: predicate, text: condition.text), standIns: definition.standIns)
    }
    return StoreSchema(entities: entities.compactMap { $0 }, indexes: folded)
  }
}

extension FetchPredicate {
  /// The predicate with other names of properties.
  fileprivate func renaming(_ name: (String) -> String) -> FetchPredicate {
    mapChildren(predicate: { $0.renaming(name) }, expression: { $0.renaming(name) })
  }
}

extension FetchExpression {
  fileprivate func renaming(_ name: (String) -> String) -> FetchExpression {
    if case .keyPath(let path) = self {
      return .keyPath(PropertyPath(name(path.names.joined(separator: "."))))
    }
    return mapChildren(predicate: { $0.renaming(name) }, expression: { $0.renaming(name) })
  }
}
