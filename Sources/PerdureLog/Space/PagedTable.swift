/// A table that is indexed by number. It has pages of 256 elements, and allocates a page when one
/// of its numbers is first used. An unused page before the last used page takes only 8 bytes. So
/// the largest segment number (2^26 - 1) in a hostile file name or header takes only a few MiB.
struct PagedTable<Element> {
  /// The value of unused numbers.
  private let blank: Element
  /// The pages by page number. An unused page is empty.
  private var pages: [[Element]] = []
  /// The numbers of the used pages, ascending.
  private var used: [Int] = []

  private static var pageBits: Int { 8 }

  init(_ blank: Element) { self.blank = blank }

  subscript(number: Int) -> Element {
    get {
      let page = number >> Self.pageBits
      guard page < pages.count, !pages[page].isEmpty else { return blank }
      return pages[page][number & (1 << Self.pageBits - 1)]
    }
    set {
      let page = number >> Self.pageBits
      if page >= pages.count || pages[page].isEmpty { addPage(page) }
      pages[page][number & (1 << Self.pageBits - 1)] = newValue
    }
  }

  /// Changes the element of a number in place.
  @inline(__always)
  mutating func change<R>(_ number: Int, _ body: (inout Element) -> R) -> R {
    let page = number >> Self.pageBits
    if page >= pages.count || pages[page].isEmpty { addPage(page) }
    return body(&pages[page][number & (1 << Self.pageBits - 1)])
  }

  private mutating func addPage(_ page: Int) {
    if page >= pages.count {
      pages.append(contentsOf: repeatElement([], count: page + 1 - pages.count))
    }
    pages[page] = [Element](repeating: blank, count: 1 << Self.pageBits)
    used.insert(page, at: (used.lastIndex { $0 < page } ?? -1) + 1)
  }

  /// The elements of all used pages, in order of the numbers. Some of them may be blank.
  var known: some Sequence<(number: Int, element: Element)> {
    used.lazy.flatMap { page in
      pages[page].enumerated().lazy.map { (number: page << Self.pageBits + $0.offset, element: $0.element) }
    }
  }
}

extension PagedTable: Sendable where Element: Sendable {}
