// The policy of a save for conflicts with saves of other contexts.

/// Decides conflicts of a save with an earlier save of another context. There are three cases: both
/// changed a property, one deleted an object that the other changed or linked to, or both together
/// violate a constraint.
///
/// Changes of different properties of one object do not conflict. Every policy saves both, except
/// `overwrite` and `rollback`, which apply to whole objects. Additions and removals of different
/// objects in a to-many relationship do not conflict either, and every policy saves both.
///
///     context.mergePolicy = .mergeByPropertyObjectTrump
///     context.mergePolicy = .error.merging("salary", of: "Worker", by: .sum)
///
/// A table in docs/decisions/0014-three-way-merging.md has the result of each policy for each kind
/// of conflict.
public struct MergePolicy: Sendable {
  enum General: Sendable, CaseIterable {
    case error, storeTrump, objectTrump, overwrite, rollback
  }

  private let general: General
  private var policies: [String: General] = [:]
  private var rules: [String: [String: PropertyMergeRule]] = [:]

  private init(_ general: General) { self.general = general }

  /// Rejects the save. The error contains all conflicts, with the values of all sides. This is the
  /// policy of a new context.
  public static let error = MergePolicy(.error)
  /// If both contexts changed a property, the store's value stays. An object that the other context
  /// deleted is deleted. An object that this context deleted and the other context changed stays.
  public static let mergeByPropertyStoreTrump = MergePolicy(.storeTrump)
  /// If both contexts changed a property, the local value is saved. An object that this context
  /// deleted is deleted. An object that this context changed and the other context deleted is
  /// inserted again, with the same id.
  public static let mergeByPropertyObjectTrump = MergePolicy(.objectTrump)
  /// Saves a changed object as a whole, even if another context changed it: the other context's
  /// changes of the remaining properties are lost.
  public static let overwrite = MergePolicy(.overwrite)
  /// Discards the changes of an object that another context changed too. The object gets the other
  /// context's values.
  public static let rollback = MergePolicy(.rollback)

  /// The same policy, with a different policy for the objects of an entity and its subentities.
  ///
  /// - Parameters:
  ///   - entityName: The entity. Its subentities have the same policy.
  ///   - policy: Only its general policy is used, not its rules for properties and entities.
  public func merging(_ entityName: String, by policy: MergePolicy) -> MergePolicy {
    var copy = self
    copy.policies[entityName] = policy.general
    return copy
  }

  /// The same policy, with a rule for one property of an entity and its subentities. The rule
  /// decides if both contexts changed the property, under every policy except `rollback`.
  ///
  /// A many-to-many relationship can have the rule `error`, `store`, `object` or `union`. For a
  /// to-many relationship whose inverse is to-one, set the rule of the inverse.
  public func merging(
    _ property: String, of entityName: String, by rule: PropertyMergeRule
  ) -> MergePolicy {
    var copy = self
    copy.rules[entityName, default: [:]][property] = rule
    return copy
  }

  /// The policy for objects of an entity.
  ///
  /// - Parameter lineage: The names of the entity and of its superentities, from the entity
  ///   upwards.
  func general(_ lineage: [String]) -> General {
    if policies.isEmpty { return general }
    return lineage.lazy.compactMap { policies[$0] }.first ?? general
  }

  /// The rule for a property.
  func rule(_ lineage: [String], _ property: String) -> PropertyMergeRule? {
    if rules.isEmpty { return nil }
    return lineage.lazy.compactMap { rules[$0]?[property] }.first
  }

  /// Whether any property has a rule.
  var hasRules: Bool { !rules.isEmpty }
}

extension MergePolicy {
  /// Stops the program if the policy names an unknown entity or property, or has a rule that a
  /// property cannot have.
  func check(_ graph: GraphSchema) {
    for name in policies.keys where graph.shapes(named: name).isEmpty { stop(graph.complaint(about: name)) }
    for (name, properties) in rules {
      guard let shape = graph.shapes(named: name).first else { stop(graph.complaint(about: name)) }
      for (property, rule) in properties {
        let slot = shape.slot(named: property)
        if let problem = rule.problem(shape.properties[slot]) { stop("\(name).\(property) \(problem)") }
      }
    }
  }
}

extension PropertyMergeRule {
  /// The reason why a property cannot have the rule; nil if it can.
  fileprivate func problem(_ property: EntityShape.Property) -> String? {
    switch property {
    case .attribute(let kind, _):
      if needsSet { return "is not a to-many relationship: the rule union needs one." }
      let isNumber = [.int16, .int32, .int64, .float, .double, .decimal].contains(kind)
      return needsNumbers && !isNumber ? "is not a number: the rule sum needs one." : nil
    case .relationship(let relationship) where relationship.isTransient:
      return "is not stored, and cannot conflict."
    case .relationship(let relationship):
      if relationship.form == .column {
        return needsSet || needsNumbers ? "is to-one: give it error, store, object or custom." : nil
      }
      if relationship.isInColumn { return "is stored at the other end: set the rule of its inverse." }
      return isForSets ? nil : "is to-many: give it error, store, object or union."
    case .count, .derived, .transient: return "is not stored, and cannot conflict."
    }
  }
}
