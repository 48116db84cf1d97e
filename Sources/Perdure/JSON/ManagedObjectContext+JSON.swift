// Decodes objects from JSON, and encodes objects as JSON.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension ManagedObjectContext {
  /// The objects of a JSON array: found by a unique key, otherwise inserted.
  ///
  ///     let workers = try context.decode([Worker].self, from: data)
  ///
  /// The keys of a JSON object are names of properties. An object gets the values in the JSON. A
  /// missing key changes nothing, and unknown keys, derived properties and transient properties are
  /// skipped. An object is found by the values of its uniqueness constraints, including among
  /// unsaved objects. JSON objects with the same unique values are one object. Nothing is saved.
  ///
  /// | property | JSON |
  /// |---|---|
  /// | a number | a number that fits in the type; a `Decimal` is rounded to 38 digits |
  /// | `Bool`, `String` | `true`, `false`; a text |
  /// | `Date`, `Data` | by the decoder's strategies; by default seconds since 2001, and base64 |
  /// | `UUID`, `URL`, `ManagedObjectID` | a text |
  /// | an enumeration of `AttributeValue` | the raw value of a case |
  /// | a Codable type, an array, a dictionary | its own JSON |
  /// | a type with a `ValueTransformer` | its bytes, as `Data` |
  /// | a composite | an object with its elements |
  /// | a to-one relationship | an object, `null`, or the unique value of an object |
  /// | a to-many relationship | an array of these; then it has exactly the objects in the array |
  ///
  /// A unique value of a Codable type, an array or a dictionary cannot represent its object. Any
  /// other unique value identifies an object of the context or of the same JSON. An optional
  /// property accepts `null`. The key `entity` of an object names a subentity of the expected
  /// entity.
  ///
  /// - Parameters:
  ///   - type: The class of the objects. Its entity must be in the model.
  ///   - data: The JSON, with at most 64 levels of nested objects.
  ///   - decoder: Its strategies define how dates, data, keys and numbers that are not finite are
  ///     read. Its `userInfo` is restored.
  ///   - file: The caller's file, shown if misuse stops the program.
  ///   - line: The caller's line.
  /// - Returns: The objects of the array, in its order.
  /// - Throws: `PerdureError` 139002 for JSON that does not fit the model. The message has the path
  ///   of the value: `[3].company.name`. 134060 if the store cannot be read. After an error,
  ///   nothing has changed.
  /// - Complexity: O(n) for n bytes, and a fetch for each unique key in them.
  public func decode<T: ManagedObject>(
    _ type: [T].Type, from data: Data, using decoder: JSONDecoder = JSONDecoder(),
    file: StaticString = #fileID, line: UInt = #line
  ) throws(PerdureError) -> [T] {
    try decode(shape(of: T.self, file, line), data, decoder, isArray: true)
  }

  /// The object of a JSON object: found by a unique key, otherwise inserted. See the function for
  /// arrays.
  ///
  /// - Throws: As the function for arrays.
  public func decode<T: ManagedObject>(
    _ type: T.Type, from data: Data, using decoder: JSONDecoder = JSONDecoder(),
    file: StaticString = #fileID, line: UInt = #line
  ) throws(PerdureError) -> T {
    try decode(shape(of: T.self, file, line), data, decoder, isArray: false)[0]
  }

  private func decode<T: ManagedObject>(
    _ shape: EntityShape, _ data: Data, _ decoder: JSONDecoder, isArray: Bool
  ) throws(PerdureError) -> [T] {
    core.checkOwner()
    let reading = JSONReading(core.graph, shape, isArray: isArray)
    do {
      try read(data, decoder, reading)
      let objects = try JSONInsertion(reading.objects, self).apply()
      return reading.roots.map { objects[$0].typed(T.self) }
    } catch {
      throw .json(error)
    }
  }

  private func read(_ data: Data, _ decoder: JSONDecoder, _ reading: JSONReading) throws {
    guard let key = JSONReading.key else { return }
    let before = decoder.userInfo[key]
    decoder.userInfo[key] = reading
    defer { decoder.userInfo[key] = before }
    _ = try decoder.decode(JSONRoot.self, from: data)
  }

  /// The JSON array of objects, with their unsaved changes. `decode(_:from:using:)` reads it.
  ///
  ///     let data = try context.encode(workers, including: ["company", "projects"])
  ///
  /// The JSON of an object contains its attributes, including derived ones; `null` means no value.
  /// For a to-one relationship that is not followed, the JSON contains the unique value of the
  /// related object, if its entity has a unique attribute. To-many relationships that are not
  /// followed, and transient attributes, are omitted. An object that is reached twice is written
  /// twice.
  ///
  /// - Parameters:
  ///   - objects: Objects of this context. The class `T` must have an entity.
  ///   - paths: The relationships to follow, names joined by dots, as for
  ///     `ManagedObject.snapshot(including:)`. Each has at most 63 names.
  ///   - encoder: Its strategies define how dates, data, keys and numbers that are not finite are
  ///     written. Set `.sortedKeys` if equal objects must have equal bytes.
  ///   - file: The caller's file, shown if misuse stops the program.
  ///   - line: The caller's line.
  /// - Throws: `PerdureError` 139002 for a value that has no JSON, such as infinity without a
  ///   strategy; 133000 for an object that no longer exists; 134060 if the store cannot be read.
  /// - Complexity: O(n) for n visited objects. Faults fire.
  public func encode<T: ManagedObject>(
    _ objects: some Sequence<T>, including paths: [String] = [], using encoder: JSONEncoder = JSONEncoder(),
    file: StaticString = #fileID, line: UInt = #line
  ) throws(PerdureError) -> Data {
    let shape = shape(of: T.self, file, line)
    let tree = tree(shape, paths, file, line)
    return try encode(objects.map { writing($0, shape, tree) }, encoder)
  }

  /// The JSON of one object. See the function for several.
  ///
  /// - Throws: As the function for several objects.
  public func encode<T: ManagedObject>(
    _ object: T, including paths: [String] = [], using encoder: JSONEncoder = JSONEncoder(),
    file: StaticString = #fileID, line: UInt = #line
  ) throws(PerdureError) -> Data {
    let shape = core.graph.shape(of: T.self) ?? object.shape
    return try encode(writing(object, shape, tree(shape, paths, file, line)), encoder)
  }

  /// The relationships to follow from the objects of an entity.
  private func tree(
    _ shape: EntityShape, _ paths: [String], _ file: StaticString, _ line: UInt
  ) -> PathTree {
    PathTree(paths, of: core.graph.kinds(of: shape), core.graph, file, line)
  }

  private func shape(
    of type: ManagedObject.Type, _ file: StaticString, _ line: UInt
  ) -> EntityShape {
    guard let shape = core.graph.shape(of: type) else {
      stop(core.graph.complaint(about: type), file: file, line: line)
    }
    return shape
  }

  private func writing(_ object: ManagedObject, _ shape: EntityShape, _ tree: PathTree) -> JSONWriting {
    JSONWriting(
      object: object, tree: tree, expected: shape, graph: core.graph, depth: 1)
  }

  private func encode(_ value: some Encodable, _ encoder: JSONEncoder) throws(PerdureError) -> Data {
    core.checkOwner()
    do {
      let data = try encoder.encode(value)
      if let failure = core.viewState.readFailure { throw failure }
      return data
    } catch {
      throw .json(error)
    }
  }
}
