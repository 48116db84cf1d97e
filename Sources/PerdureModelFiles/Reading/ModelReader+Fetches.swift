// Fetch request templates and fetched properties.
//
// A setting that the file lacks has the default of fetch requests. Settings that the format of Core
// Data does not have are attributes whose names begin with `perdure.`.

import PerdureModel

/// The spellings of the settings of a fetch request. The first spelling of each setting is written.
enum FetchSetting {
  static let subentities = ["includeSubentities", "includesSubentities"]
  static let propertyValues = ["includePropertyValues", "includesPropertyValues"]
  static let pendingChanges = ["includesPendingChanges", "includePendingChanges"]
  static let faults = ["returnObjectsAsFaults", "returnsObjectsAsFaults"]
  static let distinctResults = ["returnDistinctResults", "returnsDistinctResults"]
  /// Paths with commas between them; ` descending` follows a path in descending order.
  static let order = "perdure.sortDescriptors"
  static let offset = "perdure.fetchOffset"
  /// Paths with commas between them.
  static let prefetching = "perdure.prefetching"
  /// Whether every read of a fetched property returns the current result.
  static let isLive = "perdure.live"
}

extension ModelReader {
  mutating func readTemplates(_ elements: [ModelElement]) {
    for element in elements {
      guard let name = required("name", of: element, nil), let request = fetchRequest(element, name) else {
        continue
      }
      content.lines.note(line: element.line, .template, request.entityName, name)
      content.templates.append(FetchRequestTemplate(name, request))
    }
  }

  mutating func fetchedProperties(_ element: ModelElement, of entity: String) -> [FetchedPropertyDescription]
  {
    element.children("fetchedProperty").compactMap { child in
      let place = Self.place(of: child, in: entity)
      checkNames(child, in: place)
      guard let name = required("name", of: child, entity) else { return nil }
      content.lines.note(line: child.line, .property, entity, name)
      let info = userInfo(child, place)
      guard let source = child.children("fetchRequest").first else {
        error(
          .missing, at: child, in: place, "The fetched property has no fetch request.",
          "Write <fetchRequest …/> in it.")
        return nil
      }
      guard let request = fetchRequest(source, place) else { return nil }
      return FetchedPropertyDescription(
        name, request, isCached: !bool(FetchSetting.isLive, of: child, place), userInfo: info)
    }
  }

  private mutating func fetchRequest(_ element: ModelElement, _ place: String) -> FetchRequestDescription? {
    checkNames(element, in: place)
    guard let entity = required("entity", of: element, place) else { return nil }
    var request = FetchRequestDescription(entity, text("predicateString", of: element))
    request.fetchLimit = size("fetchLimit", of: element, place)
    request.fetchBatchSize = size("fetchBatchSize", of: element, place)
    request.fetchOffset = size(FetchSetting.offset, of: element, place)
    request.resultType = resultType(element, place)
    request.includesSubentities = flag(FetchSetting.subentities, of: element, place)
    request.includesPropertyValues = flag(FetchSetting.propertyValues, of: element, place)
    request.includesPendingChanges = flag(FetchSetting.pendingChanges, of: element, place)
    request.returnsObjectsAsFaults = flag(FetchSetting.faults, of: element, place)
    let distinct = FetchSetting.distinctResults.first { element[$0] != nil }
    request.returnsDistinctResults = distinct.map { bool($0, of: element, place) } ?? false
    request.sortDescriptors = paths(FetchSetting.order, of: element).map { path in
      let isDescending = path.hasSuffix(" descending")
      return FetchOrder(isDescending ? String(path.dropLast(11)) : path, ascending: !isDescending)
    }
    request.relationshipKeyPathsForPrefetching = paths(FetchSetting.prefetching, of: element)
    return request
  }

  private func paths(_ attribute: String, of element: ModelElement) -> [String] {
    (text(attribute, of: element) ?? "").split(separator: ",").map(String.init)
  }

  /// Reads a truth value, from the first of its spellings that the element has. True if there is
  /// none.
  private mutating func flag(_ spellings: [String], of element: ModelElement, _ place: String) -> Bool {
    guard let attribute = spellings.first(where: { element[$0]?.isEmpty == false }) else { return true }
    return bool(attribute, of: element, place)
  }

  private mutating func size(_ attribute: String, of element: ModelElement, _ place: String) -> Int {
    count(attribute, of: element, place) ?? 0
  }

  private mutating func resultType(_ element: ModelElement, _ place: String) -> FetchResultType {
    guard let text = text("resultType", of: element) else { return .managedObjects }
    if let type = UInt8(text).flatMap(FetchResultType.init) { return type }
    error(
      .value, at: element, attribute: "resultType", in: place,
      "\"\(text.prefix(40))\" is not a type of results.", "Write 0, 1, 2 or 4.")
    return .managedObjects
  }
}
