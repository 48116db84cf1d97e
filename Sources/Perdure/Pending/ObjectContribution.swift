// The contribution of the unsaved changes of one object to a layer.

internal import PerdurePredicates

/// The data that a save would write and remove for one object. It contains links and places even if
/// the state below lacks them.
struct ObjectContribution {
  /// The effect on the row.
  enum Row {
    case unchanged
    case put(PendingRow)
    case removed
  }

  var row = Row.unchanged
  /// Whether the state below cannot have a row, because the object is new.
  var isNew = false
  /// Whether the object is to be deleted. Links and places of others that lead to it do not count.
  var isDeleted = false
  var linksAdded: [StoreLink] = []
  var linksRemoved: [StoreLink] = []
  /// The order keys of members of the object's ordered relationships.
  var places: [(link: StoreLink, key: OrderKey)] = []
  /// Members that no longer have a place.
  var placesRemoved: [StoreLink] = []

  /// The new row; nil if none is written.
  var pendingRow: PendingRow? {
    if case .put(let row) = row { row } else { nil }
  }

  /// Whether another contribution has the same effect on the row.
  func hasSameRow(as other: ObjectContribution) -> Bool {
    switch (row, other.row) {
    case (.unchanged, .unchanged), (.removed, .removed): true
    case (.put(let mine), .put(let its)): mine === its
    default: false
    }
  }

  /// Whether another contribution has the same links and places.
  func hasSameLinks(as other: ObjectContribution) -> Bool {
    linksAdded == other.linksAdded && linksRemoved == other.linksRemoved
      && placesRemoved == other.placesRemoved
      && places.elementsEqual(other.places) { $0.link == $1.link && $0.key == $1.key }
  }
}
