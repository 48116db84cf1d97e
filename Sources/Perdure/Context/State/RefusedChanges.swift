// The refused changes that the next save reports (CR1 to CR3 in ChangeRefusal.swift).

/// The changes that were refused since the last save.
struct RefusedChanges {
  private(set) var details: [PerdureError.Detail] = []
  private(set) var count = 0

  /// The maximum number of changes with details (CR3).
  static let detailsMax = 100

  var isEmpty: Bool { count == 0 }

  mutating func note(_ detail: PerdureError.Detail) {
    // Replacing a relationship notes the same refusal several times.
    if details.last == detail { return }
    count += 1
    if details.count < Self.detailsMax { details.append(detail) }
  }
}
