// The parts of an undo group. A *place* is a part of the graph that one edit can change, for
// example one column of one object.
//
// Only these places are recorded, because all other content is computed from them. For example, the
// other end of a to-one relationship is computed from its column. Places and contents consist of
// values and references, so a group does not retain managed objects (exception:
// `HeldTransient.any`).

internal import PerdurePredicates

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// A part of the graph that an edit can change without changing other parts.
enum EditedPlace: Hashable {
  /// Whether an object exists.
  case object(ObjectReference)
  /// A column of an object: an attribute or a to-one relationship.
  case column(ObjectReference, slot: Int)
  /// Whether two objects are linked by a relationship that is not stored in a column. Both ends of
  /// the relationship give the same place: `RelationshipShape.canonicalEnd` chooses the owner.
  case link(ObjectReference, slot: Int, ObjectReference)
  /// The order key of a member of an ordered relationship.
  case position(of: ObjectReference, in: ObjectReference, slot: Int)
  /// A transient attribute of an object.
  case transient(ObjectReference, slot: Int)

  /// The object that the place belongs to.
  var owner: ObjectReference {
    switch self {
    case .object(let owner), .column(let owner, _), .link(let owner, _, _), .position(_, let owner, _),
      .transient(let owner, _):
      owner
    }
  }

  /// The owner, and the member of a position.
  var objects: [ObjectReference] {
    if case .position(let member, let owner, _) = self { [owner, member] } else { [owner] }
  }

  /// The owner, and the other end of a link or a position.
  var ends: [ObjectReference] {
    switch self {
    case .link(let owner, _, let target), .position(let target, let owner, _): [owner, target]
    case .object, .column, .transient: [owner]
    }
  }

  /// The content of the place if there is no link.
  var emptyLink: EditedContent {
    if case .column = self { .value(.null) } else { .absent }
  }

  var isLink: Bool {
    if case .link = self { true } else { false }
  }

  /// The place of the relationship that a position belongs to. It is equal for all members of the
  /// relationship.
  var relationship: EditedPlace { slot.map { .column(owner, slot: $0) } ?? self }

  /// The property that the place belongs to; nil for an object as a whole.
  var slot: Int? {
    switch self {
    case .object: nil
    case .column(_, let slot), .link(_, let slot, _), .position(_, _, let slot), .transient(_, let slot):
      slot
    }
  }
}

extension EditedPlace {
  /// Hashes few numbers, because many edits look up their place in a group.
  func hash(into hasher: inout Hasher) {
    switch self {
    case .object(let owner): hasher.combine(owner.rawValue)
    case .column(let owner, let slot), .transient(let owner, let slot):
      hasher.combine(owner.rawValue ^ UInt64(truncatingIfNeeded: slot + 1) << 40)
    case .link(let owner, let slot, let target), .position(let target, let owner, let slot):
      hasher.combine(owner.rawValue ^ UInt64(truncatingIfNeeded: slot + 1) << 40)
      hasher.combine(target.rawValue)
    }
  }

  /// The place after an object got another reference. The place of a link may be at the other end
  /// then, because the order of the references chooses the end.
  func renamed(_ rename: ReferenceChange) -> EditedPlace {
    switch self {
    case .object(let owner): return .object(rename(owner))
    case .column(let owner, let slot): return .column(rename(owner), slot: slot)
    case .link(let owner, let slot, let target):
      let (owner, target) = (rename(owner), rename(target))
      let relationship = rename.graph.shape(of: owner).relationship(slot)
      return relationship.canonicalEnd(
        owner, target, inverse: rename.graph.inverse(of: relationship, at: target))
    case .position(let member, let owner, let slot):
      return .position(of: rename(member), in: rename(owner), slot: slot)
    case .transient(let owner, let slot): return .transient(rename(owner), slot: slot)
    }
  }
}

/// The replacement of the reference of a new object.
struct ReferenceChange {
  let old: ObjectReference
  let new: ObjectReference
  let graph: GraphSchema

  func callAsFunction(_ reference: ObjectReference) -> ObjectReference {
    reference == old ? new : reference
  }
}

/// The content of a place at one time.
enum EditedContent {
  /// The stored content, which was not read yet. Only open groups contain this case. The content is
  /// read at the latest when the group ends, after a save, or before the context gets another state
  /// of the store.
  case stored
  /// No object, no link, no position, or no transient value other than the default.
  case absent
  case object(EditedObject)
  case value(Value)
  case linked
  case key(OrderKey)
  case transient(HeldTransient)
}

/// An object that exists, with all values that are needed to insert it again.
struct EditedObject {
  /// The columns by slot; `.null` for slots that are not columns.
  let columns: [Value]
  /// The transient values that the instance had, by slot. They exist only with an instance.
  let transients: [Int: HeldTransient]
  /// Whether the object has had a row.
  let wasStored: Bool
  let hasPermanentID: Bool
}

extension EditedObject {
  /// The object with other values in some of its columns.
  func with(_ values: [Int: Value]) -> EditedObject {
    EditedObject(
      columns: columns.enumerated().map { values[$0] ?? $1 }, transients: transients,
      wasStored: wasStored, hasPermanentID: hasPermanentID)
  }
}

/// The value of a transient attribute. Managed objects are not retained, except inside other
/// values.
enum HeldTransient {
  case value(Value)
  /// An instance of the same context.
  case instance(ObjectReference)
  /// An instance of another context. The reference is weak: the value disappears when the program
  /// releases the instance.
  case foreign(WeakInstance)
  /// A value of any other type. Managed objects inside it are retained.
  case any(HeldObject)
}

/// A weak reference to an instance.
final class WeakInstance {
  private(set) weak var object: ManagedObject?

  init(_ object: ManagedObject) { self.object = object }
}

extension EditedContent {
  /// The content after an object got another reference.
  func renamed(_ rename: ReferenceChange) -> EditedContent {
    func renamed(_ value: Value) -> Value {
      value == .reference(rename.old) ? .reference(rename.new) : value
    }
    return switch self {
    case .value(let value): .value(renamed(value))
    case .object(let object):
      .object(
        EditedObject(
          columns: object.columns.map(renamed),
          transients: object.transients.mapValues { $0.renamed(rename) },
          wasStored: object.wasStored, hasPermanentID: object.hasPermanentID))
    case .transient(let held): .transient(held.renamed(rename))
    case .stored, .absent, .linked, .key: self
    }
  }

  /// Whether two contents of one place are known to be equal. Two existing objects count as equal.
  func isSame(as other: EditedContent) -> Bool {
    switch (self, other) {
    case (.absent, .absent), (.linked, .linked), (.object, .object): true
    case (.value(let left), .value(let right)): left == right
    case (.key(let left), .key(let right)): left == right
    case (.transient(let left), .transient(let right)): left.isSame(as: right)
    default: false
    }
  }

  var isAbsent: Bool {
    if case .absent = self { true } else { false }
  }

  var isStored: Bool {
    if case .stored = self { true } else { false }
  }

  /// The approximate size in memory, in bytes.
  var byteCount: Int {
    switch self {
    case .stored, .absent, .linked: 0
    case .key: MemoryLayout<OrderKey>.size
    case .value(let value): value.byteCount
    case .object(let object):
      object.columns.reduce(0) { $0 + $1.byteCount }
        + object.transients.values.reduce(0) { $0 + $1.byteCount }
    case .transient(let held): held.byteCount
    }
  }
}

extension HeldTransient {
  fileprivate func renamed(_ rename: ReferenceChange) -> HeldTransient {
    if case .instance(let reference) = self { .instance(rename(reference)) } else { self }
  }

  fileprivate var byteCount: Int {
    if case .value(let value) = self { value.byteCount } else { MemoryLayout<Any>.size }
  }

  fileprivate func isSame(as other: HeldTransient) -> Bool {
    switch (self, other) {
    case (.value(let left), .value(let right)): left == right
    case (.instance(let left), .instance(let right)): left == right
    case (.foreign(let left), .foreign(let right)): left.object === right.object
    case (.any(let left), .any(let right)): left.isKnown(toEqual: right)
    default: false
    }
  }
}

extension Value {
  /// The approximate size in memory, in bytes.
  fileprivate var byteCount: Int {
    switch self {
    case .string(let text), .objectID(let text): 32 + text.utf8.count
    case .data(let data): 32 + data.count
    case .url(let url): 32 + url.absoluteString.utf8.count
    case .list(let values): values.reduce(32) { $0 + $1.byteCount }
    default: 32
    }
  }
}
