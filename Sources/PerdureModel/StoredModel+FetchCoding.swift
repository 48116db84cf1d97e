internal import PerdurePredicates

// The sections of fetch request templates and fetched properties. FORMAT-GRAPH.md, "Requests in the
// model", has the grammar. Rows can be read without them, so predicates are kept as text. A name
// that the model does not have is not a decoding error.

// MARK: - Writing

extension ByteWriter {
  /// Writes the templates; nothing if there are none.
  mutating func templates(_ model: ManagedObjectModel) {
    if model.fetchRequestTemplates.isEmpty { return }
    list(model.fetchRequestTemplates) { writer, template in
      writer.string(template.name)
      writer.request(template.request)
    }
  }

  /// Writes the fetched properties of each entity that declares some; nothing if there are none.
  mutating func fetchedProperties(_ model: ManagedObjectModel, _ entries: [StoredModel.Entry]) {
    let owners = zip(entries, model.entities).filter { !$0.1.fetchedProperties.isEmpty }
      .sorted { $0.0.number < $1.0.number }
    if owners.isEmpty { return }
    list(owners) { writer, owner in
      writer.integer(owner.0.number)
      writer.list(owner.1.fetchedProperties) { writer, property in
        writer.string(property.name)
        writer.request(property.fetchRequest)
        writer.bool(property.isCached)
        writer.table(property.userInfo)
      }
    }
  }

  private mutating func request(_ request: FetchRequestDescription) {
    string(request.entityName)
    optional(request.predicateFormat) { $0.string($1) }
    list(request.sortDescriptors) { writer, order in
      writer.string(order.keyPath)
      writer.bool(order.isAscending)
    }
    integer(UInt32(clamping: request.fetchLimit))
    integer(UInt32(clamping: request.fetchOffset))
    integer(UInt32(clamping: request.fetchBatchSize))
    integer(request.resultType.rawValue)
    bool(request.includesSubentities)
    bool(request.includesPendingChanges)
    bool(request.includesPropertyValues)
    bool(request.returnsObjectsAsFaults)
    bool(request.returnsDistinctResults)
    list(request.relationshipKeyPathsForPrefetching) { $0.string($1) }
  }
}

// MARK: - Reading

extension ByteReader {
  mutating func templates(into parts: inout StoredModelParts) throws(ModelError) {
    var names: Set<String> = []
    for _ in 0..<(try count(minimumSizeBytes: 35)) {
      let name = try string()
      guard names.insert(name).inserted else { throw fail("the template \"\(name.shortened)\" occurs twice") }
      parts.templates.append(FetchRequestTemplate(name, try request()))
    }
  }

  /// Reads the fetched properties, and adds them to the entities that were read before. An earlier
  /// version of Perdure may have removed an entity and kept the section. So properties of an
  /// unknown entity are dropped.
  mutating func fetchedProperties(into parts: inout StoredModelParts) throws(ModelError) {
    let indices = Dictionary(
      parts.entries.enumerated().map { ($0.element.number, $0.offset) },
      uniquingKeysWith: { first, _ in first })
    var previous: UInt16 = 0
    for _ in 0..<(try count(minimumSizeBytes: 6)) {
      let number = try integer(UInt16.self)
      guard number > previous else { throw fail("entity \(number) is out of order") }
      previous = number
      let properties = try fetchedProperties()
      if let index = indices[number] { parts.entities[index].fetchedProperties = properties }
    }
  }

  private mutating func fetchedProperties() throws(ModelError) -> [FetchedPropertyDescription] {
    var names: Set<String> = []
    return try list(minimumSizeBytes: 40) { reader throws(ModelError) in
      let name = try reader.string()
      guard names.insert(name).inserted else {
        throw reader.fail("the fetched property \"\(name.shortened)\" occurs twice")
      }
      return FetchedPropertyDescription(
        name, try reader.request(), isCached: try reader.bool(), userInfo: try reader.texts())
    }
  }

  private mutating func request() throws(ModelError) -> FetchRequestDescription {
    var request = FetchRequestDescription(try string(), try optional(readString))
    request.sortDescriptors = try list(minimumSizeBytes: 5) { reader throws(ModelError) in
      FetchOrder(try reader.string(), ascending: try reader.bool())
    }
    request.fetchLimit = try size()
    request.fetchOffset = try size()
    request.fetchBatchSize = try size()
    request.resultType = try resultType()
    request.includesSubentities = try bool()
    request.includesPendingChanges = try bool()
    request.includesPropertyValues = try bool()
    request.returnsObjectsAsFaults = try bool()
    request.returnsDistinctResults = try bool()
    request.relationshipKeyPathsForPrefetching = try list(minimumSizeBytes: 4, readString)
    return request
  }

  private mutating func size() throws(ModelError) -> Int {
    let size = try integer(UInt32.self)
    guard size <= UInt32(Int32.max) else { throw fail("\(size) is not a size") }
    return Int(size)
  }

  private mutating func resultType() throws(ModelError) -> FetchResultType {
    let number = try integer(UInt8.self)
    guard let type = FetchResultType(rawValue: number) else {
      throw fail("\(number) is not a kind of result")
    }
    return type
  }
}
