import PerdureModel

extension ElementMaker {
  static func fetchedProperty(_ property: FetchedPropertyDescription) -> ModelElement {
    let request = fetchRequest(property.fetchRequest, name: "fetchedPropertyFetchRequest")
    return ModelElement(
      "fetchedProperty",
      [("name", property.name), ("optional", "YES"), (FetchSetting.isLive, property.isCached ? nil : "YES")],
      [request] + userInfo(property.userInfo))
  }

  static func fetchRequest(_ request: FetchRequestDescription, name: String) -> ModelElement {
    func unless(_ usual: Bool, _ value: Bool) -> String? { value == usual ? nil : value ? "YES" : "NO" }
    func size(_ value: Int) -> String? { value == 0 ? nil : "\(value)" }
    func list(_ paths: [String]) -> String? { paths.isEmpty ? nil : paths.joined(separator: ",") }
    let order = request.sortDescriptors.map { $0.isAscending ? $0.keyPath : "\($0.keyPath) descending" }
    return ModelElement(
      "fetchRequest",
      [
        ("name", name), ("entity", request.entityName), ("predicateString", request.predicateFormat),
        ("fetchLimit", size(request.fetchLimit)), ("fetchBatchSize", size(request.fetchBatchSize)),
        ("resultType", size(Int(request.resultType.rawValue))),
        (FetchSetting.subentities[0], unless(true, request.includesSubentities)),
        (FetchSetting.propertyValues[0], unless(true, request.includesPropertyValues)),
        (FetchSetting.pendingChanges[0], unless(true, request.includesPendingChanges)),
        (FetchSetting.faults[0], unless(true, request.returnsObjectsAsFaults)),
        (FetchSetting.distinctResults[0], unless(false, request.returnsDistinctResults)),
        (FetchSetting.order, list(order)), (FetchSetting.offset, size(request.fetchOffset)),
        (FetchSetting.prefetching, list(request.relationshipKeyPathsForPrefetching)),
      ])
  }
}
