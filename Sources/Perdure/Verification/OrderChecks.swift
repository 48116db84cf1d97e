// Checks the order of relationships (G7), based on the stored model.

internal import PerdurePredicates

/// One ordered relationship to check.
struct OrderCheck {
  let name: String
  /// The index from an owner to its members.
  let members: StoreIndex
  let order: OrderIndexes

  /// All ordered relationships, each once.
  static func all(of schema: StoreSchema) -> [OrderCheck] {
    var checks: [OrderCheck] = []
    for case let entity? in schema.entities {
      for property in entity.properties {
        guard let order = property.order, case .inverse(_, let index, _, _) = property.form,
          !checks.contains(where: { $0.order == order })
        else { continue }
        checks.append(OrderCheck(name: property.name, members: index, order: order))
      }
    }
    return checks
  }

  /// Passes each entry with an order key to `body`, as owner, member and problem, until `body`
  /// returns false. The problem is nil for a valid entry.
  ///
  /// - Returns: The number of members that have an entry; nil if `body` ended the visit.
  func visit(
    _ view: any StateReader, _ body: (ObjectReference, ObjectReference, String?) throws -> Bool
  ) throws -> Int? {
    var count = 0
    var isWhole = true
    try view.visitEntries(order.keys, .all, descending: false) { key, member in
      guard key.count == 8 else { return true }
      let owner = ObjectReference(rawValue: UInt64(bigEndian: key.loadUnaligned(as: UInt64.self)))
      var problem: String?
      if try !view.hasEntry(under: owner, member, in: members) {
        problem = "has an order key, but is not a member"
      } else {
        count += 1
        if try view.orderKey(of: member, under: owner, in: order) == nil {
          problem = "has an invalid order key"
        }
      }
      isWhole = try body(owner, member, problem)
      return isWhole
    }
    return isWhole ? count : nil
  }
}
