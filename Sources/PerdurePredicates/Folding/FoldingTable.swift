// Finds the folding data of one scalar. Three array accesses give its page, its record number and
// its record.
//
// The data is text (FoldingTableData.swift). Each process unpacks it once into pages of 128
// scalars. Most scalars are on the same empty page. A page contains record numbers. Record 0 is a
// plain scalar: no decomposition, no case, combining class 0, not a mark. Hangul syllables are
// plain here, because `Folder` decomposes them by arithmetic.

struct FoldingTable: Sendable {
  struct Record: Hashable, Sendable {
    /// The position of the canonical decomposition in `scalars`; empty for none.
    var decomposition: Range<Int32> = 0..<0
    /// The position of the case folding in `scalars`, for scalars that do not decompose; empty for
    /// none.
    var folding: Range<Int32> = 0..<0
    var combiningClass: UInt8 = 0
    var isMark = false
  }

  static let shared: FoldingTable = {
    var table = FoldingTable()
    table.unpack()
    return table
  }()
  private static let pageShift: UInt32 = 7

  private var pages = [UInt16](repeating: 0, count: 0x110000 >> 7)
  private var cells = [UInt16](repeating: 0, count: 128)
  private var records = [Record()]
  private(set) var scalars: [UInt32] = []

  /// The data of a scalar; the default record for numbers that are not scalars.
  func record(_ scalar: UInt32) -> Record {
    let page = Int(scalar >> Self.pageShift)
    guard page < pages.count else { return records[0] }
    return records[Int(cells[Int(pages[page]) << 7 | Int(scalar & 127)])]
  }
}

// MARK: Unpacking

extension FoldingTable {
  private mutating func unpack() {
    for entry in Self.entries(of: FoldingTableData.decompositions) {
      let (scalar, range) = addMapping(entry)
      change(scalar) { $0.decomposition = range }
    }
    for entry in Self.entries(of: FoldingTableData.foldings) {
      entry.contains(UInt8(ascii: ":")) ? addFolding(entry) : addFoldings(entry)
    }
    for entry in Self.entries(of: FoldingTableData.marks) {
      let (scalars, _) = Self.range(entry)
      for scalar in scalars { change(scalar) { $0.isMark = true } }
    }
    for entry in Self.entries(of: FoldingTableData.combiningClasses) {
      let (scalars, value) = Self.range(entry)
      for scalar in scalars { change(scalar) { $0.combiningClass = UInt8(value) } }
    }
  }

  private mutating func change(_ scalar: UInt32, _ body: (inout Record) -> Void) {
    let page = Int(scalar >> Self.pageShift)
    if pages[page] == 0 {
      pages[page] = UInt16(cells.count >> 7)
      cells.append(contentsOf: repeatElement(0, count: 128))
    }
    let cell = Int(pages[page]) << 7 | Int(scalar & 127)
    if cells[cell] == 0 {
      cells[cell] = UInt16(records.count)
      records.append(Record())
    }
    body(&records[Int(cells[cell])])
  }

  /// `scalar:scalar+scalar`
  private mutating func addMapping(_ entry: Slice<UnsafeBufferPointer<UInt8>>) -> (UInt32, Range<Int32>) {
    let start = Int32(scalars.count)
    let parts = entry.split(separator: UInt8(ascii: ":"))
    scalars += parts[1].split(separator: UInt8(ascii: "+")).map(Self.hexadecimal)
    return (Self.hexadecimal(parts[0]), start..<Int32(scalars.count))
  }

  private mutating func addFolding(_ entry: Slice<UnsafeBufferPointer<UInt8>>) {
    let (scalar, range) = addMapping(entry)
    change(scalar) { $0.folding = range }
  }

  private mutating func addFoldings(_ entry: Slice<UnsafeBufferPointer<UInt8>>) {
    let run = Self.run(entry)
    for scalar in stride(from: run.first, through: run.last, by: Int(run.step)) {
      let start = Int32(scalars.count)
      scalars.append(UInt32(Int64(scalar) + run.distance))
      change(scalar) { $0.folding = start..<start + 1 }
    }
  }

  /// `first-last/step+distance`; the distance may be negative.
  static func run(
    _ entry: Slice<UnsafeBufferPointer<UInt8>>
  ) -> (first: UInt32, last: UInt32, step: UInt32, distance: Int64) {
    let parts = entry.split(separator: UInt8(ascii: "/"))
    let bounds = parts[0].split(separator: UInt8(ascii: "-")).map(hexadecimal)
    let magnitude = Int64(hexadecimal(parts[1].dropFirst(2)))
    let isDown = parts[1].dropFirst().first == UInt8(ascii: "-")
    return (bounds[0], bounds[1], hexadecimal(parts[1].prefix(1)), isDown ? -magnitude : magnitude)
  }

  /// `first-last=value`
  private static func range(
    _ entry: Slice<UnsafeBufferPointer<UInt8>>
  ) -> (ClosedRange<UInt32>, value: UInt32) {
    let parts = entry.split(separator: UInt8(ascii: "="))
    let bounds = parts[0].split(separator: UInt8(ascii: "-")).map(hexadecimal)
    return (bounds[0]...bounds[1], hexadecimal(parts[1]))
  }

  static func entries(of text: StaticString) -> [Slice<UnsafeBufferPointer<UInt8>>] {
    // A static string is valid as long as the process runs, so the closure may return slices of it.
    UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
      .split(separator: UInt8(ascii: " "))
  }

  static func hexadecimal(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt32 {
    digits.reduce(0) { value, digit in
      value << 4
        | UInt32(digit <= UInt8(ascii: "9") ? digit - UInt8(ascii: "0") : digit - UInt8(ascii: "A") + 10)
    }
  }
}
