// Descriptions of objects, contexts, containers and requests, for logs. These descriptions do not
// read rows or the store, and make no instances, so that logging an object does not change it.

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

extension ManagedObject: CustomStringConvertible {
  /// The class, the identity, the state, and the values that are loaded; reads no row.
  ///
  /// For example `<Worker x-perdure://…/Worker/p1 updated; name = "Ada", company = Company/p7>`.
  /// Text is truncated after 40 characters; for data, the length is shown.
  public var description: String {
    let values = loadedValues.map { "\($0.name) = \($0.text)" }.joined(separator: ", ")
    return "<\(type(of: self)) \(objectID.uri)\(stateSuffix)\(values.isEmpty ? "" : "; " + values)>"
  }

  private var stateSuffix: String {
    switch state {
    case .stored: header.pointee.row == nil ? " fault" : ""
    case .inserted: " inserted"
    case .updated: " updated"
    case .deleted: " deleted"
    case .gone: " gone"
    }
  }

  /// The columns with a known value: an unsaved change, or a value in the loaded row.
  private var loadedValues: [(name: String, text: String)] {
    let row = header.pointee.loadedRow
    return shape.properties.indices.compactMap { slot in
      guard shape.isColumn(slot) else { return nil }
      let value = overlay?.value(slot) ?? row?.value(slot)
      guard let value, !value.isNull else { return nil }
      return (shape.propertyName(slot), text(of: value))
    }
  }

  private func text(of value: Value) -> String {
    switch value {
    // Does not use `count`, because it visits the whole text.
    case .string(let text) where text.index(text.startIndex, offsetBy: 41, limitedBy: text.endIndex) != nil:
      Value.string(text.prefix(40) + "…").description
    case .data(let data): "\(data.count) bytes"
    // Foundation stops the process if it describes a date whose time is NaN.
    case .date(let date): date.timeIntervalSinceReferenceDate.isNaN ? "NaN" : "\(date)"
    case .uuid(let uuid): "\(uuid)"
    case .decimal(let decimal): "\(decimal)"
    case .url(let url): url.absoluteString
    case .reference:
      if case .objectID(let text) = core.graph.shown(value), let id = ManagedObjectID(uri: text) {
        "\(id.entityName)/p\(id.number)"
      } else {
        value.description
      }
    default: value.description
    }
  }
}

extension ManagedObjectContext: CustomStringConvertible {
  /// The numbers of objects in use and of unsaved changes; makes no instances.
  public var description: String {
    var counts: [ObjectState: Int] = [:]
    for overlay in core.pending.all { counts[overlay.state, default: 0] += 1 }
    let changes = [(ObjectState.inserted, "inserted"), (.updated, "updated"), (.deleted, "deleted")]
      .compactMap { state, name in counts[state].map { "\($0) \(name)" } }
    return "<ManagedObjectContext \(counted(core.registry.identityMap.count, "object")); "
      + (changes.isEmpty ? "nothing unsaved" : changes.joined(separator: ", "))
      + (core.viewState.isReadOnly ? "; reading only" : "")
      + (core.viewState.readFailure == nil ? "" : "; refuses to save") + ">"
  }
}

extension PersistentContainer: CustomStringConvertible {
  /// The name, the paths of the stores, and the number of entities.
  public var description: String {
    let place = persistentStoreDescriptions.map { $0.path ?? "memory" }.joined(separator: " and ")
    let entities = counted(managedObjectModel.entities.count, "entity", plural: "entities")
    return "<PersistentContainer \(name) in \(place)"
      + (persistentStoreDescriptions.allSatisfy(\.isReadOnly) ? ", reading only" : "") + "; \(entities)>"
  }
}

extension FetchRequest: CustomStringConvertible {
  /// The request in words, for example `Worker where salary > 1000 order by name ascending limit
  /// 20`.
  public var description: String {
    let ofClass = (Root.self as? ManagedObject.Type)?._entityName ?? ""
    var words = [entityName ?? (ofClass.isEmpty ? "\(Root.self)" : ofClass)]
    if let predicate { words.append("where \(predicate)") }
    if !sortDescriptors.isEmpty {
      words.append("order by " + sortDescriptors.map(\.description).joined(separator: ", "))
    }
    if fetchLimit > 0 { words.append("limit \(fetchLimit)") }
    if fetchOffset > 0 { words.append("offset \(fetchOffset)") }
    if !includesSubentities { words.append("without sub-entities") }
    if !includesPendingChanges { words.append("without unsaved changes") }
    if let affectedStores {
      words.append("in the stores " + affectedStores.map(\.identifier).joined(separator: ", "))
    }
    return words.joined(separator: " ")
  }
}

extension ObjectSnapshot: CustomStringConvertible {
  /// The identity and the properties, by name.
  public var description: String {
    let values = properties.sorted { $0.key < $1.key }.map { "\($0.key) = \($0.value)" }
    return "<\(objectID.uri)\(values.isEmpty ? "" : "; " + values.joined(separator: ", "))>"
  }
}

extension ObjectSnapshot.Property: CustomStringConvertible {
  /// The value, the identity, or the objects.
  public var description: String {
    switch self {
    case .attribute(let value): value.description
    case .reference(let id): id?.uri ?? "NULL"
    case .object(let object): object?.description ?? "NULL"
    case .objects(let objects): "\(objects)"
    }
  }
}
