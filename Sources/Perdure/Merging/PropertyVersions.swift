// Three-way comparison of one property: what it was, what it is here, and what others have made of it.

public import PerdurePredicates

/// The three values of a property that was changed here and elsewhere. A relationship has the id of
/// the object at the other end (`Value.objectID`).
public struct PropertyVersions: Hashable, Sendable {
  /// The object.
  public let objectID: ManagedObjectID
  /// The property's name.
  public let property: String
  /// The common earlier value: the row's value before the change here. For an object that was
  /// inserted, the default of new objects.
  public let base: Value
  /// The unsaved value that was set here.
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

/// What three values of one column come to, before any policy is asked.
enum ColumnComparison: Hashable {
  /// Only this context has changed it.
  case local
  /// Only others have, or both have done the same.
  case store
  /// Both have, and not the same.
  case both

  /// Two numbers that are alike may be two steps of one count, so they do not agree: one step would be lost.
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
  /// Whether something can be added to it.
  fileprivate var isCountable: Bool {
    switch self {
    case .integer, .double, .decimal: true
    default: false
    }
  }
}
