internal import PerdurePredicates

/// The objects at the other end of a to-many relationship: a live view, not a copy.
///
/// Each read returns the current objects, including unsaved changes on either side. Each object
/// occurs once, in no particular order. Objects that were not loaded before are faults. When a
/// fault fires, the rows of adjacent objects are read too. So a loop over many objects sends few
/// requests to the store.
///
///     company.workers.insert(worker)
///     for colleague in company.workers { print(colleague.name) }
///     company.workers.replace(with: [worker])
///
/// A change connects both sides immediately. Inserting a connected object or removing an absent one
/// changes nothing. Changes are saved with the context; the cost of a connection does not depend on
/// the number of connections. If the store cannot be read, the relationship reads as empty, and the
/// next fetch or save of the context throws the error.
///
/// A literal, or `ToMany(found)` of any sequence, lists objects to be assigned to a relationship:
///
///     company.workers = [ada, grace]
///     company.workers = ToMany(try context.fetch(request))
///
/// The assignment replaces the objects of the relationship with the listed objects. A list itself
/// belongs to no relationship. It can be read, but an attempt to change it stops the program.
public struct ToMany<Element: ManagedObject> {
  @usableFromInline let source: ToManySource

  @inlinable
  init(_ source: ToManySource) {
    self.source = source
  }

  @inlinable
  init(_ owner: ManagedObject, _ slot: Int) {
    source = .relationship(owner, slot)
  }

  /// Lists objects, to assign them to a relationship. A repeated object counts once.
  public init(_ objects: some Sequence<Element>) {
    source = ToManySource(listing: objects.lazy.map { $0 as ManagedObject })
  }

  /// The number of objects. O(log n): nothing is loaded.
  @inlinable public var count: Int { source.count }

  /// Whether there is no object. O(log n).
  @inlinable public var isEmpty: Bool { count == 0 }

  /// The first object in the order of iteration; nil if there is none. No other object is loaded.
  ///
  /// - Complexity: The same as for the beginning of an iteration.
  public var first: Element? {
    var objects = makeIterator()
    return objects.next()
  }

  /// Whether an object is at the other end. Nothing is loaded. False for an object of another store
  /// or of a wrong entity.
  ///
  /// - Complexity: O(log n) for a relationship, O(n) for the result of a fetched property.
  public func contains(_ object: Element) -> Bool {
    guard case .relationship(let owner, let slot) = source else { return lists(object.objectID) }
    let relationship = owner.shape.relationship(slot)
    guard let context = owner.context,
      let reference = context.registry.reference(of: object, in: relationship),
      !context.viewState.hasVanished(reference), !context.viewState.hasVanished(owner.reference)
    else { return false }
    return context.reading.links.contains(owner.reference, relationship, reference)
  }

  /// Whether the object with an identity is at the other end. Nothing is loaded, and no instance is
  /// made.
  ///
  /// - Complexity: O(log n) for a relationship, O(n) for the result of a fetched property.
  public func contains(_ id: ManagedObjectID) -> Bool {
    guard case .relationship(let owner, let slot) = source else { return lists(id) }
    let relationship = owner.shape.relationship(slot)
    guard let context = owner.context else { return false }
    context.checkOwner()
    guard let reference = context.registry.reference(of: id, in: relationship),
      !context.viewState.hasVanished(reference),
      !context.viewState.hasVanished(owner.reference)
    else { return false }
    return context.reading.links.contains(owner.reference, relationship, reference)
  }

  private func lists(_ id: ManagedObjectID) -> Bool { contains { $0.objectID == id } }

  /// The identities of the objects, without making instances of them.
  public var objectIDs: [ManagedObjectID] {
    guard case .relationship(let owner, let slot) = source else { return map(\.objectID) }
    guard let context = owner.context else { return [] }
    return owner.relatedReferences(slot).map { context.pending.objectID(of: $0) }
  }

  /// The objects as an array, in no particular order; like `NSSet.allObjects`.
  public var allObjects: [Element] { Array(self) }

  /// Connects an object. An object that no longer exists is not connected, and the next save throws
  /// an error about it. An object of another context stops the program. If the object is deleted in
  /// this context, its delete rules disconnect it again.
  public func insert(_ object: Element) {
    let (owner, slot) = source.changeable()
    guard let context = owner.contextForConnecting(slot) else { return }
    let relationship = owner.shape.relationship(slot)
    guard context.editing.refusal.canConnect(object, relationship) else {
      return context.editing.refusal.refuseLink(of: owner, slot, to: object)
    }
    context.editing.linkEditor.connect(owner.reference, relationship, object.reference)
  }

  /// Connects objects.
  public func insert(contentsOf objects: some Sequence<Element>) {
    for object in objects { insert(object) }
  }

  /// Connects the objects of a collection of any values, such as an `NSSet`. A value that is not an
  /// object of the relationship's class stops the program.
  @_disfavoredOverload
  public func insert(contentsOf objects: some Sequence<Any>) {
    for object in objects { insert(Self.element(object)) }
  }

  /// Disconnects an object.
  public func remove(_ object: Element) {
    let (owner, slot) = source.changeable()
    guard let context = owner.contextForConnecting(slot),
      let reference = context.registry.reference(of: object, in: owner.shape.relationship(slot))
    else { return }
    context.editing.linkEditor.disconnect(owner.reference, owner.shape.relationship(slot), reference)
  }

  /// Disconnects objects.
  public func remove(contentsOf objects: some Sequence<Element>) {
    for object in objects { remove(object) }
  }

  /// Disconnects the objects of a collection of any values, such as an `NSSet`. A value that is not
  /// an object of the relationship's class stops the program.
  @_disfavoredOverload
  public func remove(contentsOf objects: some Sequence<Any>) {
    for object in objects { remove(Self.element(object)) }
  }

  /// A value of an untyped collection, cast to the class of the objects. Stops the program if it is
  /// of another class.
  static func element(_ value: Any) -> Element {
    guard let object = value as? Element else {
      stop(
        "\(value) is a \(type(of: value)), but the relationship has objects of \(Element.self). Leave it out."
      )
    }
    return object
  }

  /// Disconnects all objects.
  public func removeAll() {
    let (owner, slot) = source.changeable()
    guard let context = owner.contextForConnecting(slot) else { return }
    let relationship = owner.shape.relationship(slot)
    for target in owner.relatedReferences(slot) {
      context.editing.linkEditor.disconnect(owner.reference, relationship, target)
    }
    context.editing.linkEditor.dropLinksToVanished(owner.reference, relationship)
  }

  /// Replaces the objects of the relationship with these objects.
  public func replace(with objects: some Sequence<Element>) {
    let (owner, slot) = source.changeable()
    guard let context = owner.contextForConnecting(slot) else { return }
    let relationship = owner.shape.relationship(slot)
    let wanted = Array(objects)
    let kept = Set(wanted.map(\.reference))
    for target in owner.relatedReferences(slot) where !kept.contains(target) {
      context.editing.linkEditor.disconnect(owner.reference, relationship, target)
    }
    context.editing.linkEditor.dropLinksToVanished(owner.reference, relationship)
    insert(contentsOf: wanted)
  }
}

@available(*, unavailable)
extension ToMany: Sendable {}

extension ToMany: Sequence {
  /// Iterates over the objects that are connected when the iteration begins.
  public struct Iterator: IteratorProtocol {
    @usableFromInline var walk: SiblingWalk

    @inlinable
    init(_ walk: SiblingWalk) {
      self.walk = walk
    }

    /// The next object, as a fault unless it was loaded before or together with another one.
    @inlinable @inline(__always)
    public mutating func next() -> Element? { walk.next(as: Element.self) }
  }

  /// The objects that are connected now; changes during the iteration do not affect it.
  @inlinable
  public func makeIterator() -> Iterator { Iterator(source.makeWalk()) }
}

@available(*, unavailable)
extension ToMany.Iterator: Sendable {}

extension ToMany: CustomStringConvertible {
  /// The identities of the objects; makes no instances.
  public var description: String { "\(objectIDs.map(\.uri).sorted())" }
}

extension ToMany: ExpressibleByArrayLiteral {
  /// Lists objects, to assign them to a relationship.
  public init(arrayLiteral objects: Element...) { self.init(objects) }
}
