// Three-way comparison of one property: the earlier value, the local value and the store's value.

public import PerdurePredicates

/// The three values of a property that this context and another context have changed. A
/// relationship is represented by the id of its target (`Value.objectID`).
public struct PropertyVersions: Hashable, Sendable {
  /// The object.
  public let objectID: ManagedObjectID
  /// The property's name.
  public let property: String
  /// The common earlier value: the row's value before the local change. For an inserted object, the
  /// default of new objects. `.null` if the earlier value is not known.
  public let base: Value
  /// The unsaved local value.
  public let local: Value
  /// The store's current value; also `.null` if the object does not exist.
  public let store: Value

  init(_ objectID: ManagedObjectID, _ property: String, base: Value, local: Value, store: Value) {
    self.objectID = objectID
    self.property = property
    self.base = base
    self.local = local
    self.store = store
  }
}

extension PropertyVersions: CustomStringConvertible {
  /// The property and its three values, shortened.
  public var description: String {
    let (base, local, store) = ("\(base)".shortened, "\(local)".shortened, "\(store)".shortened)
    return "\(property): was \(base), is \(local) here and \(store) in the store"
  }
}

/// The result of comparing three values of one column, before a policy applies.
enum ColumnComparison: Hashable {
  /// Only this context has changed the value.
  case local
  /// This context has not changed the value, or both have set the same value that is not a number.
  case store
  /// Both contexts have changed the value, to different values or to the same number.
  case both

  /// If both contexts have set the same number, the result is `both`: each may have incremented a
  /// counter, and otherwise one increment is lost.
  init(base: Value, local: Value, store: Value) {
    if local == base || local == store && !store.isCountable && store != base {
      self = .store
    } else if store == base {
      self = .local
    } else {
      self = .both
    }
  }
}

extension Value {
  /// Whether the value is a number.
  fileprivate var isCountable: Bool {
    switch self {
    case .integer, .double, .decimal: true
    default: false
    }
  }
}
