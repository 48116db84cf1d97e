/// A table from columns of one entity to values. A predicate names few columns, so searching an
/// array is faster than hashing.
struct ColumnTable<Element> {
  private(set) var entries: [(column: IndexColumn, element: Element)] = []

  var columns: [IndexColumn] { entries.map(\.column) }

  subscript(column: IndexColumn) -> Element? {
    get { position(of: column).map { entries[$0].element } }
    set {
      switch (position(of: column), newValue) {
      case (let position?, let element?): entries[position].element = element
      case (let position?, nil): entries.remove(at: position)
      case (nil, let element?): entries.append((column, element))
      case (nil, nil): break
      }
    }
  }

  private func position(of column: IndexColumn) -> Int? {
    entries.firstIndex { $0.column == column }
  }
}
