/// A list that usually has one element. It allocates no memory for a single element. In a commit of
/// one record, an allocation takes as much time as the record.
struct ShortList<Element> {
  private var first: Element?
  private var others: [Element] = []

  init() {}

  var isEmpty: Bool { first == nil }

  var count: Int { first == nil ? 0 : 1 + others.count }

  var indices: Range<Int> { 0..<count }

  subscript(index: Int) -> Element {
    get {
      if index == 0, let first { return first }
      return others[index - 1]
    }
    set {
      if index == 0, first != nil { first = newValue } else { others[index - 1] = newValue }
    }
  }

  mutating func append(_ element: Element) {
    if first == nil { first = element } else { others.append(element) }
  }

  mutating func removeAll() {
    first = nil
    if !others.isEmpty { others = [] }
  }
}
