public import PerdurePredicates

/// The state of an object at one moment, as a value. It never changes, and can be sent to any
/// isolation, compared, and encoded as JSON.
///
///     let picture = try worker.snapshot(including: ["company", "projects.members"])
///     let text = try JSONEncoder().encode(picture)
///     let name = picture["company"]?.object?["name"]?.value
///
/// `TypedSnapshot` is the same with the types of a class.
public struct ObjectSnapshot: Sendable, Hashable {
  /// The value of a property.
  public indirect enum Property: Sendable, Hashable {
    /// The value of an attribute; `.null` without a value.
    case attribute(Value)
    /// The identity of the object of a to-one relationship that was not followed.
    case reference(ManagedObjectID?)
    /// The object of a to-one relationship.
    case object(ObjectSnapshot?)
    /// The objects of a to-many relationship or of a fetched property. Those of a relationship
    /// without an order are sorted by entity and identity. All others have the property's order.
    case objects([ObjectSnapshot])

    /// The value of an attribute; nil for an absent value and for any other property.
    public var value: Value? {
      if case .attribute(let value) = self, !value.isNull { value } else { nil }
    }

    /// The object of a to-one relationship that was followed; nil if there is none, and for any
    /// other property.
    public var object: ObjectSnapshot? {
      if case .object(let object) = self { object } else { nil }
    }

    /// The objects of a to-many relationship or a fetched property; empty for any other property.
    public var objects: [ObjectSnapshot] {
      if case .objects(let objects) = self { objects } else { [] }
    }
  }

  /// The object's identity.
  public let objectID: ManagedObjectID
  /// The values of the object's properties by name. Derived attributes are included, and transient
  /// attributes with a type of the model. To-one relationships are included, and the requested
  /// to-many relationships and fetched properties. Elements of composite attributes are included by
  /// their paths: `address.street`. If the class implements accessors for a transient attribute
  /// (`@Attribute(.transient)` of a computed variable), the value is that of its getter. A stored
  /// attribute has its stored value, even if the class implements accessors for it.
  public let properties: [String: Property]

  /// The value of a property. Nil for a name that is not in ``properties``, such as that of a
  /// to-many relationship or fetched property that was not included.
  public subscript(key: String) -> Property? { properties[key] }

  /// The contents of a typed snapshot for a required object that did not exist.
  static let absent = ObjectSnapshot(objectID: .absent, properties: [:])

  /// Whether this represents an object that did not exist.
  var isAbsent: Bool { objectID == .absent }
}

extension ManagedObject {
  /// The object as a value, with its unsaved changes.
  ///
  /// - Parameters:
  ///   - paths: The relationships and fetched properties to follow, names joined by dots:
  ///     `company.workers` includes the company and its workers. An object that is reached twice is
  ///     included twice. The entity must have these properties: any other name stops the program.
  ///     After a relationship, its destination or one of the subentities must have the property.
  ///     Objects of other entities are included without the property.
  ///   - file: The caller's file, for the message of a stop.
  ///   - line: The caller's line.
  /// - Throws: `PerdureError` 134060 if a part of the snapshot could not be read or fetched, or if
  ///   an earlier property read failed, because properties cannot throw. `objectNotFound` for an
  ///   object whose row is absent and was not loaded before.
  /// - Complexity: O(n) for n included objects. Faults fire.
  public func snapshot(
    including paths: [String] = [], file: StaticString = #fileID, line: UInt = #line
  ) throws(PerdureError) -> ObjectSnapshot {
    let made = try snapshot(PathTree(paths, of: [shape], core.graph, file, line))
    if let failure = context?.viewState.readFailure { throw failure }
    return made
  }

  /// Loads the row, if the object has one.
  ///
  /// - Throws: `PerdureError` 134060 if the row cannot be read, 133000 if the object no longer
  ///   exists and has no loaded row.
  func requireRow() throws(PerdureError) {
    core.checkOwner()
    if overlay?.isNew != true, !loadRow() {
      if !header.pointee.isGone, let failure = core.viewState.readFailure { throw failure }
      throw PerdureError(
        .objectNotFound, "\(objectID) no longer exists. Fetch again.")
    }
  }

  private func snapshot(_ tree: PathTree) throws(PerdureError) -> ObjectSnapshot {
    try requireRow()
    var properties: [String: ObjectSnapshot.Property] = [:]
    for slot in shape.properties.indices {
      let name = shape.propertyName(slot)
      properties[name] = try property(slot, tree.branches[name])
    }
    for (name, branch) in tree.branches where shape.hasFetchedProperty(name) {
      properties[name] = .objects(try Self.snapshots(of: fetchedObjects(forKey: name), branch))
    }
    return ObjectSnapshot(objectID: objectID, properties: properties)
  }

  private func property(
    _ slot: Int, _ branch: PathTree?
  ) throws(PerdureError) -> ObjectSnapshot.Property? {
    if case .transient(.undefined, _) = shape.properties[slot] { return nil }
    guard case .relationship(let relationship) = shape.properties[slot] else {
      return .attribute(customTransientValue(slot) ?? attributeValue(slot))
    }
    guard relationship.isToMany else {
      let object = related(slot)
      guard let branch else { return .reference(object?.objectID) }
      return .object(try object?.snapshot(branch))
    }
    guard let branch else { return nil }
    var objects = Array(ToMany<ManagedObject>(self, slot))
    if relationship.order == nil { objects.sort { $0.reference.rawValue < $1.reference.rawValue } }
    return .objects(try Self.snapshots(of: objects, branch))
  }

  private static func snapshots(
    of objects: [ManagedObject], _ branch: PathTree
  ) throws(PerdureError) -> [ObjectSnapshot] {
    var snapshots: [ObjectSnapshot] = []
    for object in objects { snapshots.append(try object.snapshot(branch)) }
    return snapshots
  }
}

/// Paths of property names as a tree, in which common beginnings of paths are stored once.
struct PathTree {
  private(set) var branches: [String: PathTree] = [:]

  /// Makes the tree of the paths, which may be empty. Stops the program if a name in a path is not
  /// a relationship or fetched property of any entity there.
  ///
  /// - Parameter shapes: The entities of the objects at which the paths begin. Not empty.
  init(
    _ paths: [String], of shapes: [EntityShape], _ graph: GraphSchema, _ file: StaticString, _ line: UInt
  ) {
    for path in paths { add(path.split(separator: ".", omittingEmptySubsequences: false)[...]) }
    check(shapes[0], shapes, graph, file, line)
  }

  private init() {}

  /// Stops the program if a name is not a relationship or fetched property of any entity.
  ///
  /// - Parameter shapes: The entities of the objects that may be at this point of the paths.
  private func check(
    _ shape: EntityShape, _ shapes: [EntityShape], _ graph: GraphSchema, _ file: StaticString, _ line: UInt
  ) {
    for (name, branch) in branches {
      if let fetched = shapes.lazy.compactMap({ $0.fetchedProperties[name] }).first {
        branch.check(fetched: fetched, graph, file, line)
        continue
      }
      let having = shapes.filter { $0.schema.slot(named: name) != nil }
      guard let first = having.first else {
        _ = shape.slot(named: name, file, line)
        return
      }
      guard case .relationship(let relationship) = first.properties[first.slot(named: name)] else {
        stop(
          "\(first.name).\(name) is an attribute, which every snapshot has. Name only relationships and fetched "
            + "properties in including:.",
          file: file, line: line)
      }
      let destination = graph.shape(numbered: relationship.destination)
      branch.check(destination, graph.kinds(of: destination), graph, file, line)
    }
  }

  /// Checks the paths from the objects of a fetched property.
  private func check(
    fetched: FetchedShape, _ graph: GraphSchema, _ file: StaticString, _ line: UInt
  ) {
    // If the entity does not exist, the fetch throws.
    let shapes = graph.shapes(named: fetched.request.entityName ?? "")
    guard let first = shapes.first else { return }
    check(first, shapes.flatMap { graph.kinds(of: $0) }, graph, file, line)
  }

  private mutating func add(_ path: ArraySlice<Substring>) {
    guard let name = path.first else { return }
    branches[String(name), default: PathTree()].add(path.dropFirst())
  }
}

// MARK: - With types

/// The state of an object of a class at one moment, as a value with the class's properties.
///
///     let picture = try TypedSnapshot(worker, including: ["company", "projects"])
///     Task { print(picture.name, picture.company?.name ?? "-", picture.projects.count) }
///
/// Reading a relationship that was not included stops the program. `contents` has the identities at
/// the other end of to-one relationships, and the included fetched properties.
@dynamicMemberLookup
public struct TypedSnapshot<Root: ManagedObject>: Sendable, Hashable {
  /// The snapshot without types, which can be encoded.
  public let contents: ObjectSnapshot

  /// The object as a value, with its unsaved changes.
  ///
  /// - Parameters:
  ///   - object: The object to copy.
  ///   - paths: The relationships to follow, as for `ManagedObject.snapshot(including:)`.
  /// - Throws: The errors of that function.
  public init(_ object: Root, including paths: [String] = []) throws(PerdureError) {
    contents = try object.snapshot(including: paths)
  }

  /// The object as a value, with some of its relationships.
  ///
  /// - Throws: As `ManagedObject.snapshot(including:)`.
  public init(_ object: Root, including relationships: PartialKeyPath<Root>...) throws(PerdureError) {
    contents = try object.snapshot(including: relationships.map(Self.name))
  }

  /// Makes a typed snapshot from a snapshot without types.
  ///
  /// - Parameter contents: A snapshot of an object of the class's entity or of a subentity.
  ///   Reading a property that it lacks stops the program.
  public init(_ contents: ObjectSnapshot) { self.contents = contents }

  /// The object's identity.
  public var objectID: ManagedObjectID { contents.objectID }

  /// An attribute's value. Without a value, it reads as the type's `zeroValue`, or as the initial
  /// value for a `CodableAttributeValue`.
  public subscript<V: AttributeValue>(dynamicMember keyPath: KeyPath<Root, V>) -> V {
    property(keyPath).value.flatMap(V.init(attributeValue:)) ?? Root.absentValue(Self.name(keyPath))
  }

  /// An attribute's value, or nil.
  public subscript<V: AttributeValue>(dynamicMember keyPath: KeyPath<Root, V?>) -> V? {
    property(keyPath).value.flatMap(V.init(attributeValue:))
  }

  /// A composite attribute. If it has no value, its elements read as absent.
  public subscript<C: CompositeAttributeValue>(dynamicMember keyPath: KeyPath<Root, C>) -> C {
    C(reading: composite(keyPath))
  }

  /// A composite attribute, or nil.
  public subscript<C: CompositeAttributeValue>(dynamicMember keyPath: KeyPath<Root, C?>) -> C? {
    let content = composite(keyPath)
    return content.isEmpty ? nil : C(reading: content)
  }

  private func composite(_ keyPath: PartialKeyPath<Root>) -> CompositeContent {
    let prefix = "\(Self.name(keyPath))."
    let parts = contents.properties.filter { $0.key.hasPrefix(prefix) }
    if parts.isEmpty, !contents.isAbsent { stopNotIncluded(keyPath) }
    var content = CompositeContent()
    for (path, property) in parts {
      content.values[String(path.dropFirst(prefix.count))] = property.value
    }
    return content
  }

  /// The object of a to-one relationship that was followed, or nil.
  public subscript<D: ManagedObject>(dynamicMember keyPath: KeyPath<Root, D?>) -> TypedSnapshot<D>? {
    target(keyPath).map { TypedSnapshot<D>($0) }
  }

  /// The object of a to-one relationship that was followed. If there was none, for example because
  /// another context deleted it, the result is a snapshot without values, as in the object's
  /// property.
  public subscript<D: ManagedObject>(dynamicMember keyPath: KeyPath<Root, D>) -> TypedSnapshot<D> {
    TypedSnapshot<D>(target(keyPath) ?? .absent)
  }

  private func target(_ keyPath: PartialKeyPath<Root>) -> ObjectSnapshot? {
    if contents.isAbsent { return nil }
    guard case .object(let object) = property(keyPath) else { stopNotIncluded(keyPath) }
    return object
  }

  /// The objects of a to-many relationship that was followed, in order of entity and identity.
  public subscript<D: ManagedObject>(dynamicMember keyPath: KeyPath<Root, ToMany<D>>) -> [TypedSnapshot<D>] {
    property(keyPath).objects.map { TypedSnapshot<D>($0) }
  }

  /// The objects of an ordered to-many relationship that was followed, in its order.
  public subscript<D: ManagedObject>(
    dynamicMember keyPath: KeyPath<Root, OrderedToMany<D>>
  ) -> [TypedSnapshot<D>] {
    property(keyPath).objects.map { TypedSnapshot<D>($0) }
  }

  func property(_ keyPath: PartialKeyPath<Root>) -> ObjectSnapshot.Property {
    let name = Self.name(keyPath)
    if contents.isAbsent { return .attribute(.null) }
    guard let property = contents.properties[name] else { stopNotIncluded(keyPath) }
    return property
  }

  private func stopNotIncluded(_ keyPath: PartialKeyPath<Root>) -> Never {
    stop("The snapshot of \(objectID) was made without \(Self.name(keyPath)). Name it in including:.")
  }

  private static func name(_ keyPath: PartialKeyPath<Root>) -> String {
    let name = Root.propertyName(of: keyPath)
    if name.hasPrefix("\\") {
      stop(
        "\(keyPath) is not a managed property of \(Root.self). A snapshot has attributes and relationships.")
    }
    return name
  }
}
