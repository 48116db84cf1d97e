// The contribution of the unsaved changes of one object to a layer.

internal import PerdurePredicates

/// The data that a save would write and remove for one object. It lists removed links and order
/// keys even if the state below does not have them.
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

  /// The effect on the place (the order key) of a member.
  enum PlaceChange: Equatable {
    case key(OrderKey)
    /// The member no longer has a place.
    case removed
  }

  var row = Row.unchanged
  /// Whether the state below cannot have a row, because the object is new.
  var isNew = false
  /// Whether the object is to be deleted. Links of other objects to it, and its order keys in their
  /// relationships, remain in their contributions.
  var isDeleted = false
  var links: [StoreLink: LinkChange] = [:]
  /// The places of members of the object's ordered relationships. A deleted object also has its own
  /// places among the members of other objects.
  var places: [StoreLink: PlaceChange] = [:]

  /// The new row; nil if none is written.
  var pendingRow: PendingRow? {
    if case .put(let row) = row { row } else { nil }
  }
}

/// New parts of a contribution. The other parts stay.
struct ContributionEdit {
  /// The effect on the row; nil if it stays.
  var row: ObjectContribution.Row?
  /// The effects on links; nil for none.
  var links: [(link: StoreLink, change: ObjectContribution.LinkChange?)] = []
  /// The effects on places; nil for none.
  var places: [(link: StoreLink, change: ObjectContribution.PlaceChange?)] = []
}
