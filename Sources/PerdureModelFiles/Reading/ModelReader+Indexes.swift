// The indexes of an entity: `fetchIndex` elements, `compoundIndexes` of older files, and `indexed`
// attributes of the oldest ones.
//
// In Perdure, an entity and its ancestor cannot have indexes with the same name. In files they can:
// the name of the entity is then appended to the name of its index. Relationships are found without
// an index, so `indexed` relationships get no index.

import PerdureModel
import PerdurePredicates

extension ModelReader {
  mutating func indexes(_ element: ModelElement, of entity: EntityDescription) -> [FetchIndexDescription] {
    var indexes: [FetchIndexDescription] = []
    for child in element.children("fetchIndex") {
      if let index = fetchIndex(child, in: entity.name) { indexes.append(index) }
    }
    for child in element.children("attribute") {
      guard let name = child["name"], bool("indexed", of: child, "\(entity.name).\(name)") else { continue }
      if bool("transient", of: child, "\(entity.name).\(name)") { continue }
      appendOlder([name], from: child, entity.name, &indexes)
    }
    for list in element.children("compoundIndexes") {
      checkNames(list, in: entity.name)
      for compound in list.children("compoundIndex") {
        checkNames(compound, in: entity.name)
        let members = compound.children("index")
        for member in members { checkNames(member, in: entity.name) }
        let names = members.compactMap { required("value", of: $0, entity.name) }
        appendOlder(names, from: compound, entity.name, &indexes)
      }
    }
    return indexes
  }

  /// Adds an index from an element of an older file. The file contains no name for it. Adds nothing
  /// if `indexes` has an index of the same elements.
  private mutating func appendOlder(
    _ names: [String], from element: ModelElement, _ entity: String, _ indexes: inout [FetchIndexDescription]
  ) {
    let index = FetchIndexDescription(on: names.map { .init($0) })
    if names.isEmpty || indexes.contains(where: { $0.elements == index.elements }) { return }
    content.lines.note(line: element.line, .index, entity, index.name)
    indexes.append(index)
  }

  private mutating func fetchIndex(_ element: ModelElement, in entity: String) -> FetchIndexDescription? {
    let place = Self.place(of: element, in: entity)
    checkNames(element, in: place)
    guard let name = required("name", of: element, entity) else { return nil }
    content.lines.note(line: element.line, .index, entity, name)
    let children = element.children("fetchIndexElement")
    let elements = children.compactMap { indexElement($0, place) }
    if children.isEmpty {
      warning(
        .unused, at: element, in: place, "The index has no element.", "Remove it: it is not used.")
    }
    // Omit the whole index: without one of its elements, it is an index for other fetches.
    guard !elements.isEmpty, elements.count == children.count else { return nil }
    if let predicate = text("partialIndexPredicate", of: element) {
      return FetchIndexDescription(name, elements, where: predicate)
    }
    return FetchIndexDescription(name, elements)
  }

  private mutating func indexElement(
    _ element: ModelElement, _ place: String
  ) -> FetchIndexDescription.Element? {
    checkNames(element, in: place)
    if let type = text("type", of: element), type != "Binary" {
      warning(
        .unused, at: element, attribute: "type", in: place, "Stores have no indexes of the type \(type).",
        "Use Binary; the index is ordered.")
    }
    let isAscending = isAscending(element, place)
    if let property = text("property", of: element) { return .init(property, ascending: isAscending) }
    guard let expression = text("expression", of: element) else {
      _ = required("property", of: element, place)
      return nil
    }
    if let parts = TextFunction.parse(expression), parts.function != nil {
      return .init(expression, ascending: isAscending)
    }
    warning(
      .unused, at: element, attribute: "expression", in: place,
      "Stores have no indexes of the expression \"\(expression.prefix(40))\", so the index is not used.",
      "Index a property, or write canonical:(name), lowercase:(name) or uppercase:(name).")
    return nil
  }

  private mutating func isAscending(_ element: ModelElement, _ place: String) -> Bool {
    guard let order = text("order", of: element) else { return true }
    switch order.lowercased() {
    case "ascending": return true
    case "descending": return false
    default:
      error(
        .value, at: element, attribute: "order", in: place, "\"\(order.prefix(40))\" is not an order.",
        "Write ascending or descending.")
      return true
    }
  }

  /// Appends the name of the entity to the name of each of its indexes that has the same name as an
  /// index of an ancestor.
  mutating func makeIndexNamesUnique() {
    let parents = Dictionary(
      content.entities.map { ($0.name, $0.superentityName) }, uniquingKeysWith: { first, _ in first })
    let names = Dictionary(
      content.entities.map { ($0.name, Set($0.indexes.map(\.name))) }, uniquingKeysWith: { $0.union($1) })
    for position in content.entities.indices {
      let entity = content.entities[position]
      for (number, index) in entity.indexes.enumerated() {
        var ancestor = entity.superentityName
        // The number of steps is limited, because superentities may form a cycle.
        for _ in 0..<ModelLimits.hierarchyDepth {
          guard let name = ancestor, name != entity.name else { break }
          if names[name]?.contains(index.name) == true {
            let unique = "\(index.name)_\(entity.name)"
            content.entities[position].indexes[number].name = unique
            content.lines.copy(.index, entity.name, from: index.name, to: unique)
            break
          }
          ancestor = parents[name] ?? nil
        }
      }
    }
  }
}
