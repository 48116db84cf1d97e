public import PerdureModel
public import PerdurePredicates

/// What a managed object is made from. Contexts make these; there is nothing in it for anybody else.
public struct ObjectSeed {
  let core: ContextCore
  let shape: EntityShape
  let reference: ObjectReference
}

@available(*, unavailable)
extension ObjectSeed: Sendable {}

/// An object of the graph: one instance for one identity in one context.
///
/// Subclasses declare properties, whose storage is here. An instance is made by `init(context:)`, which
/// inserts a new object, or by the context, which hands out the same instance whenever it meets the same
/// identity.
///
/// An instance is at first a *fault*: it knows who it is and nothing more. Touching a property loads its row.
///
/// Objects belong to their context and stay in its isolation; they are not `Sendable`. Send `objectID`
/// instead.
open class ManagedObject {
  let header: UnsafeMutablePointer<ObjectHeader>
  let shape: EntityShape
  let core: ContextCore

  /// Makes the instance for an identity. Called by contexts.
  public required init(_ seed: ObjectSeed) {
    shape = seed.shape
    core = seed.core
    header = .allocate(capacity: 1)
    header.initialize(
      to: ObjectHeader(
        epochCell: seed.core.epochCell, reference: seed.reference,
        slotCount: seed.shape.properties.count))
    seed.core.register(self)
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
    if !header.pointee.isGone { core.unregister(self) }
    header.pointee.dropRow()
    header.deinitialize(count: 1)
    header.deallocate()
  }

  /// The description of this class's entity. Overridden by every class that has one.
  open class var entityDescription: EntityDescription {
    preconditionFailure("\(self) does not say what its entity is: override entityDescription.")
  }

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
}

extension ManagedObject: PredicateArgument {
  /// The object's identity as a value.
  public var predicateValue: Value { .reference(header.pointee.reference) }
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
