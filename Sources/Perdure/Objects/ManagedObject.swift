public import PerdureModel
public import PerdurePredicates

/// What a managed object is made from. Contexts make these; there is nothing in it for anybody else.
public struct ObjectSeed {
  // The context is alive while it makes an object, and keeps the shape alive: no references are counted.
  let uncountedCore: Unmanaged<ContextCore>
  let uncountedShape: Unmanaged<EntityShape>
  let header: UnsafeMutablePointer<ObjectHeader>

  @inline(__always)
  init(core: ContextCore, shape: EntityShape, reference: ObjectReference) {
    self.init(
      core: core, shape: shape, header: .make(reference, slotCount: shape.slotCount, in: core.memory))
  }

  /// With a header that was made ahead.
  @inline(__always)
  init(core: ContextCore, shape: EntityShape, header: UnsafeMutablePointer<ObjectHeader>) {
    uncountedCore = .passUnretained(core)
    uncountedShape = .passUnretained(shape)
    self.header = header
  }
}

@available(*, unavailable)
extension ObjectSeed: Sendable {}

/// An object of the graph: one instance for one identity in one context.
///
/// Subclasses declare properties, whose storage is here. An instance is made by `init(context:)`, which
/// inserts a new object, or by the context, which hands out the same instance whenever it meets the same
/// identity.
///
/// An instance is at first a *fault*: it knows who it is and nothing more. Touching a property loads its row, of the
/// state of the store that the context sees. Properties cannot throw: a row that cannot be read reads as having no
/// values, and the next fetch or save of the context throws why.
///
/// What is set is seen at once by everybody with this context, fetches included, and by others once it is saved and
/// they have moved on. Nothing of it is in the store before `ManagedObjectContext.save()`.
///
///     let person = Person(context: context)
///     person.name = "Ada"
///     person.setValue("Ada L.", forKey: "name")
///     let id = person.objectID
///
/// Objects belong to their context and stay in its isolation; they are not `Sendable`. Send `objectID`
/// instead, and ask the other context for `existingObject(with:)`. Two instances are equal when they are the same;
/// two contexts have an instance each for one identity.
open class ManagedObject {
  let header: UnsafeMutablePointer<ObjectHeader>
  // Not counted, one by one, for each of many objects: a context lives as long as any of its instances
  // (`ContextCore.didMakeInstance`), and its schema as long as the context.
  let uncountedShape: Unmanaged<EntityShape>
  let uncountedCore: Unmanaged<ContextCore>

  /// Makes the instance for an identity. Called by contexts.
  public required init(_ seed: ObjectSeed) {
    uncountedShape = seed.uncountedShape
    uncountedCore = seed.uncountedCore
    header = seed.header
    uncountedCore._withUnsafeGuaranteedRef { $0.didMake(self) }
  }

  /// Inserts a new object of this class's entity into a context. Properties have their defaults.
  ///
  /// The object is visible to fetches in this context at once and to others after the save. The class must
  /// have been given to the container, and its entity must not be abstract.
  public convenience init(context: ManagedObjectContext) {
    self.init(context.core.seedForInserting(Self.self))
    core.didInsert(self)
  }

  deinit {
    let transients = header.pointee.transients
    uncountedCore._withUnsafeGuaranteedRef { $0.willFree(self) }
    // Last: what they hold may be other objects, and end with them.
    transients?.release()
  }

  /// The description of this class's entity. Overridden by every class that has accessors.
  ///
  /// A class that overrides it nowhere has the empty description, without a name. It can stand between the classes of
  /// entities and `ManagedObject`, and be the class of any entities that the container or their descriptions name it
  /// for; it reaches properties by their names.
  open class var entityDescription: EntityDescription { EntityDescription("", properties: []) }

  /// The name of this class's entity, by itself: descriptions may name each other's entities in a circle.
  open class var _entityName: String { entityDescription.name }

  /// The property names of this class and its superclasses, by key paths whose root is this class.
  open class var _propertyNamesByKeyPath: [AnyKeyPath: String] { [:] }

  /// Called once in an object's life, when it has been inserted; properties have their defaults. Changes
  /// made here are saved like any others.
  open func awakeFromInsert() {}

  /// Called by `delete`, before delete rules are applied. Not called for objects that a delete rule takes
  /// along.
  open func prepareForDeletion() {}
}

@available(*, unavailable)
extension ManagedObject: Sendable {}

extension ManagedObject: Hashable {
  /// Whether both are the same instance.
  public static func == (left: ManagedObject, right: ManagedObject) -> Bool { left === right }

  /// Hashes the identity of the instance.
  public func hash(into hasher: inout Hasher) { hasher.combine(header.pointee.reference) }

  /// What sets and dictionaries ask for: as cheap as that of the reference.
  public func _rawHashValue(seed: Int) -> Int { header.pointee.reference._rawHashValue(seed: seed) }
}

extension ManagedObject: PredicateArgument {
  /// The object's identity as a value. A fetch looks it up, and refuses an object of another store.
  public var predicateValue: Value { .objectID(objectID.uri) }
}

extension ManagedObject: CustomStringConvertible {
  /// The class, the identity and the state; reads no row.
  public var description: String { "<\(type(of: self)) \(objectID.uri)\(stateSuffix)>" }

  private var stateSuffix: String {
    switch state {
    case .stored: isFault ? " fault" : ""
    case .inserted: " inserted"
    case .updated: " updated"
    case .deleted: " deleted"
    case .gone: " gone"
    }
  }
}
