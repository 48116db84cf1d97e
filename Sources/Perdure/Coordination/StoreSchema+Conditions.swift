// Conditions of partial indexes: their part in the name of an index, and their form for planning.
//
// The content of an index depends on its condition, so another condition makes another index. The
// name contains a digest of the condition. The definition in the engine's catalog contains the
// whole condition. Both use numbers of properties, so that a property can be renamed.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension IndexCondition {
  /// - Parameter number: Returns the number of a property with a name.
  init(_ predicate: FetchPredicate, number: (String) -> UInt32?) {
    self.predicate = predicate
    text = predicate.renaming { name in number(name).map { "p\($0)" } ?? name }.predicateFormat
  }

  /// The suffix of the name of an index with this condition.
  var suffix: String { "?" + Self.digest(of: text) }

  /// The FNV-1a digest of a text, as 16 hexadecimal digits.
  fileprivate static func digest(of text: String) -> String {
    let digest = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    let digits = String(digest, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

extension IndexDefinition {
  /// All data that the content of the index depends on, except data that a stored model never
  /// changes.
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
  /// The schema with the conditions of its indexes in the form of prepared requests
  /// (PreparedFetch). Computing this form needs all entities.
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
  /// The predicate with renamed properties.
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
