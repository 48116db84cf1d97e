// The refused changes that the next save reports (R1 to R3 in ChangeRefusal.swift).

/// The changes that were refused since the last save.
struct RefusedChanges {
  private(set) var details: [PerdureError.Detail] = []
  private(set) var count = 0

  /// The maximum number of changes with details (R3).
  static let detailsMax = 100

  var isEmpty: Bool { count == 0 }

  mutating func note(_ detail: PerdureError.Detail) {
    // Replacing a relationship notes the same refusal several times.
    if details.last == detail { return }
    count += 1
    if details.count < Self.detailsMax { details.append(detail) }
  }
}
