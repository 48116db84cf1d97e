// The contribution of the unsaved changes of one object to a layer.

internal import PerdurePredicates

/// The data that the next save will write and remove for one object. It lists removed links and
/// order keys even if the state below does not have them.
struct ObjectContribution {
  /// The effect on the row.
  enum Row {
    case unchanged
    case put(PendingRow)
    case removed

    /// Whether another contribution has the same effect.
    func isSame(as other: Row) -> Bool {
      switch (self, other) {
      case (.unchanged, .unchanged), (.removed, .removed): true
      case (.put(let mine), .put(let its)): mine === its
      default: false
      }
    }
  }

  /// The effect on a link.
  enum LinkChange {
    case added
    case removed
  }

  /// The effect on the order key of a member.
  enum OrderKeyChange: Equatable {
    case key(OrderKey)
    /// The member no longer has an order key.
    case removed
  }

  var row = Row.unchanged
  /// Whether the state below cannot have a row, because the object is new.
  var isNew = false
  /// Whether the object is to be deleted. The contributions of other objects keep their links to
  /// it, and its order keys in their relationships.
  var isDeleted = false
  var links: [StoreLink: LinkChange] = [:]
  /// The effects on order keys in the object's ordered relationships. A deleted object also affects
  /// its own order keys in relationships of other objects.
  var places: [StoreLink: OrderKeyChange] = [:]

  /// The new row; nil if none is written.
  var pendingRow: PendingRow? {
    if case .put(let row) = row { row } else { nil }
  }
}

/// New parts of a contribution. The other parts stay.
struct ContributionEdit {
  /// The new effect on the row; nil if the effect stays.
  var row: ObjectContribution.Row?
  /// The new effects on links; a `change` of nil ends the effect.
  var links: [(link: StoreLink, change: ObjectContribution.LinkChange?)] = []
  /// The new effects on order keys; a `change` of nil ends the effect.
  var places: [(link: StoreLink, change: ObjectContribution.OrderKeyChange?)] = []
}
