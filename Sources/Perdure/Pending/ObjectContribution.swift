// What the unsaved changes of one object contribute to a layer.

internal import PerdurePredicates

/// What a save would write and remove for one object. It names links and places whether or not the
/// state below has them.
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
  /// Members that have no place any more.
  var placesRemoved: [StoreLink] = []

  /// The row to be; nil if none is written.
  var pendingRow: PendingRow? {
    if case .put(let row) = row { row } else { nil }
  }

  /// Whether the row becomes the same as by another contribution.
  func hasSameRow(as other: ObjectContribution) -> Bool {
    switch (row, other.row) {
    case (.unchanged, .unchanged), (.removed, .removed): true
    case (.put(let mine), .put(let its)): mine === its
    default: false
    }
  }

  /// Whether the links and places are the same as in another contribution.
  func hasSameLinks(as other: ObjectContribution) -> Bool {
    linksAdded == other.linksAdded && linksRemoved == other.linksRemoved
      && placesRemoved == other.placesRemoved
      && places.elementsEqual(other.places) { $0.link == $1.link && $0.key == $1.key }
  }
}
