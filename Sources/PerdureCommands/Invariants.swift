/// The titles of the invariants that a verification checks.
enum Invariants {
  static let all: [(name: String, title: String)] = [
    ("V1", "frames of the log"), ("V2", "addresses"), ("V3", "index"), ("V4", "derived indexes"),
    ("V5", "uniqueness"), ("V6", "blob files"), ("V7", "order and counts"), ("V8", "superblock"),
    ("V9", "catalog"), ("V10", "checkpoint"), ("V11", "counts of garbage"), ("G1", "rows"),
    ("G2", "to-one references"), ("G3", "links"), ("G4", "uniqueness"), ("G5", "pairs and inverses"),
    ("G6", "numbers of objects"), ("G7", "places in orders"),
  ]

  static func title(of name: String) -> String? { all.first { $0.name == name }?.title }
}
