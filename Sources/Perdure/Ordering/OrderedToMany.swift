internal import PerdurePredicates

/// The objects at the other end of an ordered to-many relationship: a live view, not a copy.
///
/// It is like `ToMany`, and its objects have positions. A position out of range stops the program.
/// Objects connected from the other end, or added without a position, are added at the end.
///
///     conversation.messages.append(message)
///     conversation.messages.insert(first, at: 0)
///     conversation.messages.move(message, to: 3)
///     let last = conversation.messages.last
///
/// Every operation on one object is O(log n). With m unsaved changes of the relationship,
/// operations by position are O(log n · log m). If the relationship has become ordered in a later
/// model, they are O(n log n) until its first edit is saved. The operations load no other object. A
/// save writes one short record with the object's order key. Insertions of several contexts at
/// different positions all succeed. If several contexts insert at the same position, the objects
/// are adjacent, in the same order for all contexts. If two contexts move the same object to
/// different positions, the second save is a conflict.
///
/// A literal, or `OrderedToMany(found)` of any sequence, lists objects in the order in which they
/// are to be assigned to a relationship. Such a list is read-only; see `ToMany`.
public struct OrderedToMany<Element: ManagedObject> {
  @usableFromInline let source: ToManySource

  init(_ source: ToManySource) {
    self.source = source
  }

  @usableFromInline
  init(_ owner: ManagedObject, _ slot: Int) {
    source = .relationship(owner, slot)
  }

  /// Lists objects, to assign them to a relationship. A repeated object counts at its first
  /// occurrence.
  public init(_ objects: some Sequence<Element>) {
    source = ToManySource(listing: objects.lazy.map { $0 as ManagedObject })
  }

  private var unordered: ToMany<Element> { ToMany(source) }

  /// The number of objects. O(log n): no object is loaded.
  @inlinable public var count: Int { source.count }

  /// Whether there is no object. O(log n).
  @inlinable public var isEmpty: Bool { count == 0 }

  /// Whether an object is at the other end. O(log n): no object is loaded.
  public func contains(_ object: Element) -> Bool { unordered.contains(object) }

  /// Whether the object with an id is at the other end. O(log n): no object is loaded, and no
  /// instance is created.
  public func contains(_ id: ManagedObjectID) -> Bool { unordered.contains(id) }

  /// The ids of the objects in order. Creates no instances.
  public var objectIDs: [ManagedObjectID] { unordered.objectIDs }

  /// The object at a position below `count`. No other object is loaded.
  public subscript(position: Int) -> Element {
    guard let object = object(at: position) else {
      stop("\(words) has \(count) objects, but none at \(position).")
    }
    return object
  }

  /// The first object; nil if there is none.
  public var first: Element? { object(at: 0) }

  /// The last object; nil if there is none.
  public var last: Element? { object(at: count - 1) }

  /// The position of an object; nil for an absent one. O(log n).
  public func firstIndex(of object: Element) -> Int? {
    guard case .relationship(let owner, let slot) = source else {
      return enumerated().first { $1 === object }?.offset
    }
    guard let context = owner.context, contains(object) else { return nil }
    return context.reading.links.orderedPosition(
      of: object.reference, in: owner.reference, owner.shape.relationship(slot))
  }

  /// The objects as an array in order, as `NSOrderedSet.array`.
  public var array: [Element] { Array(self) }

  private func object(at position: Int) -> Element? {
    switch source {
    case .list(let objects):
      return objects.indices.contains(position) ? objects[position].typed(Element.self) : nil
    case .relationship(let owner, let slot): return object(at: position, of: owner, slot)
    }
  }

  private func object(at position: Int, of owner: ManagedObject, _ slot: Int) -> Element? {
    owner.core.checkOwner()
    guard let context = owner.context, !context.viewState.hasVanished(owner.reference) else { return nil }
    return context.reading.links.orderedMember(
      at: position, of: owner.reference, owner.shape.relationship(slot)
    )
    .map { context.registry.instance(of: $0).typed(Element.self) }
  }

  // MARK: Changes

  /// Connects an object after all others. An object that is already connected keeps its position.
  public func append(_ object: Element) { unordered.insert(object) }

  /// Connects objects after all others, in their order.
  public func append(contentsOf objects: some Sequence<Element>) {
    for object in objects { append(object) }
  }

  /// Connects the objects of a collection of any values, such as an `NSOrderedSet`, after all
  /// others. A value that is not an object of the relationship's class stops the program.
  @_disfavoredOverload
  public func append(contentsOf objects: some Sequence<Any>) { unordered.insert(contentsOf: objects) }

  /// Connects an object at a position of at most `count`. An object that is already connected does
  /// not move.
  public func insert(
    _ object: Element, at position: Int, file: StaticString = #fileID, line: UInt = #line
  ) {
    if isRefused { return }
    checkPosition(position, upTo: count, file, line)
    if contains(object) { return }
    append(object)
    place(object, at: position)
  }

  /// Connects objects, the first of them at a position. Objects that are already connected do not
  /// move.
  public func insert(
    contentsOf objects: some Sequence<Element>, at position: Int, file: StaticString = #fileID,
    line: UInt = #line
  ) {
    var position = position
    for object in objects where !contains(object) {
      insert(object, at: position, file: file, line: line)
      // A removed object is not connected.
      if contains(object) { position += 1 }
    }
  }

  /// Moves a connected object to a position below `count`. An object that is not connected is
  /// ignored.
  public func move(
    _ object: Element, to position: Int, file: StaticString = #fileID, line: UInt = #line
  ) {
    if isRefused { return }
    guard contains(object) else { return }
    checkPosition(position, upTo: count - 1, file, line)
    if firstIndex(of: object) == position { return }
    place(object, at: position)
  }

  /// Moves the object at a position to another one below `count`.
  public func move(from position: Int, to target: Int) {
    if !isRefused { move(self[position], to: target) }
  }

  /// Disconnects the object at a position, and connects `object` there. If `object` is already
  /// connected, nothing happens.
  public func replace(at position: Int, with object: Element) {
    if isRefused { return }
    let old = self[position]
    if contains(object) { return }
    insert(object, at: position)
    // If the object cannot be connected, the old one stays.
    if contains(object) { remove(old) }
  }

  /// Disconnects an object.
  public func remove(_ object: Element) { unordered.remove(object) }

  /// Disconnects objects.
  public func remove(contentsOf objects: some Sequence<Element>) { unordered.remove(contentsOf: objects) }

  /// Disconnects the objects of a collection of any values, such as an `NSSet`. A value that is not
  /// an object of the relationship's class stops the program.
  @_disfavoredOverload
  public func remove(contentsOf objects: some Sequence<Any>) { unordered.remove(contentsOf: objects) }

  /// Disconnects the object at a position below `count`.
  public func remove(at position: Int) {
    if !isRefused { remove(self[position]) }
  }

  /// Disconnects all objects.
  public func removeAll() { unordered.removeAll() }

  /// Connects exactly these objects, in this order; a repeated object counts at its first
  /// occurrence.
  ///
  /// - Complexity: O(n log n). Each step considers only the next object, so a few objects are moved
  ///   although they are already in the right relative order.
  public func replace(with objects: some Sequence<Element>) {
    var seen: Set<ManagedObjectID> = []
    let wanted = objects.filter { seen.insert($0.objectID).inserted }
    unordered.replace(with: wanted)
    let (owner, slot) = source.changeable()
    guard let context = owner.contextForConnecting(slot) else { return }
    let relationship = owner.shape.relationship(slot)
    var position = 0
    for object in wanted where contains(object) {
      if context.reading.links.orderedMember(at: position, of: owner.reference, relationship)
        != object.reference
      {
        place(object, at: position)
      }
      position += 1
    }
  }

  /// Whether the relationship cannot change because the owner no longer exists. If so, records a
  /// refused change, which the next save reports.
  private var isRefused: Bool {
    let (owner, slot) = source.changeable()
    return owner.contextForConnecting(slot) == nil
  }

  private func place(_ object: Element, at position: Int) {
    let (owner, slot) = source.changeable()
    guard let context = owner.contextForConnecting(slot), contains(object) else { return }
    context.editing.orderEditor.move(
      object.reference, to: position, of: owner.reference, owner.shape.relationship(slot))
  }

  /// The collection in words, for messages.
  private var words: String {
    guard case .relationship(let owner, let slot) = source else {
      return "A collection that was made of objects"
    }
    return "\(owner.shape.name).\(owner.shape.relationship(slot).name) of \(owner.objectID)"
  }

  private func checkPosition(
    _ position: Int, upTo last: Int, _ file: StaticString, _ line: UInt
  ) {
    if position < 0 || position > last {
      stop(
        "\(words) has \(count) objects: position \(position) is out of range. Use 0 to \(last).",
        file: file, line: line)
    }
  }
}

@available(*, unavailable)
extension OrderedToMany: Sendable {}

extension OrderedToMany: Sequence {
  /// Iterates over the currently connected objects, in order. Changes during the iteration have no
  /// effect on it.
  @inlinable
  public func makeIterator() -> ToMany<Element>.Iterator { ToMany<Element>.Iterator(source.makeWalk()) }
}

extension OrderedToMany: CustomStringConvertible {
  /// The ids of the objects in order. Creates no instances.
  public var description: String { "\(objectIDs.map(\.uri))" }
}

extension OrderedToMany: ExpressibleByArrayLiteral {
  /// Lists objects in order, to assign them to a relationship.
  public init(arrayLiteral objects: Element...) { self.init(objects) }
}
