// Reads the binary property lists of keyed archives. Except on Apple platforms, Foundation's reader
// is unsafe: for some input, such as sets, it accesses memory outside the list. No archiver writes
// such input.
//
//   PL1. Every offset and length is checked against the list's bounds before it is used.
//   PL2. Objects may share items, so few bytes can describe many items. Each read of an item is
//        counted, and the total is at most the number of bytes. Items are nested at most `depthMax`
//        levels deep.

import Foundation

/// A value in a property list.
enum PropertyListItem {
  case text(String)
  /// A number or a truth value.
  case number(NSNumber)
  case data(Data)
  case list([PropertyListItem])
  case table([String: PropertyListItem])
  /// A reference to an object of an archive, by its index.
  case reference(Int)
}

/// Reads one property list.
struct BinaryPropertyList {
  private static let magic = Array("bplist00".utf8)
  private static let trailerLength = 32
  /// The maximum number of levels. An archive has up to five: the archive, its list of objects, an
  /// object, a list in the object, and an item of that list.
  private static let depthMax = 6

  private let bytes: [UInt8]
  private let offsets: Int
  private let offsetLength: Int
  private let referenceLength: Int
  private let count: Int
  private var itemsLeft: Int

  /// Reads the root item of a property list.
  static func root(of data: Data) throws(KeyedArchiveError) -> PropertyListItem {
    var list = try BinaryPropertyList(data)
    return try list.item(try list.integer(data.count - 16, 8), 0)
  }

  private init(_ data: Data) throws(KeyedArchiveError) {
    bytes = [UInt8](data)
    itemsLeft = bytes.count
    let trailer = bytes.count - Self.trailerLength
    guard trailer >= Self.magic.count, bytes.starts(with: Self.magic) else { throw Self.damaged }
    offsetLength = Int(bytes[trailer + 6])
    referenceLength = Int(bytes[trailer + 7])
    let (count, offsets) = (
      Self.integer(bytes[trailer + 8..<trailer + 16]), Self.integer(bytes[trailer + 24..<trailer + 32])
    )
    guard (1...8).contains(offsetLength), (1...8).contains(referenceLength), let count, let offsets,
      count <= trailer, offsets <= trailer, count * offsetLength <= trailer - offsets
    else { throw Self.damaged }
    (self.count, self.offsets) = (count, offsets)
  }

  private static var damaged: KeyedArchiveError { KeyedArchiveError("The bytes are not a keyed archive.") }

  /// An integer from big-endian bytes; nil if it does not fit in an `Int`.
  private static func integer(_ bytes: ArraySlice<UInt8>) -> Int? {
    bytes.count > 8 ? nil : Int(exactly: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
  }

  private func slice(_ place: Int, _ length: Int) throws(KeyedArchiveError) -> ArraySlice<UInt8> {
    guard place >= 0, length >= 0, place <= bytes.count, length <= bytes.count - place else {
      throw Self.damaged
    }
    return bytes[place..<place + length]
  }

  private func integer(_ place: Int, _ length: Int) throws(KeyedArchiveError) -> Int {
    guard let value = Self.integer(try slice(place, length)) else { throw Self.damaged }
    return value
  }

  // MARK: Items

  private mutating func item(_ number: Int, _ depth: Int) throws(KeyedArchiveError) -> PropertyListItem {
    itemsLeft -= 1
    guard number < count, depth < Self.depthMax, itemsLeft >= 0 else { throw Self.damaged }
    let place = try integer(offsets + number * offsetLength, offsetLength)
    let marker = try integer(place, 1)
    let low = marker & 15
    switch marker >> 4 {
    case 0 where marker == 8 || marker == 9: return .number(NSNumber(value: marker == 9))
    case 1: return .number(try whole(place + 1, low))
    case 2: return .number(try real(place + 1, low))
    case 8: return .reference(try integer(place + 1, low + 1))
    case 4, 5, 6: return try run(marker >> 4, place, low)
    case 10, 13: return try container(marker >> 4, place, low, depth)
    default: throw Self.damaged
    }
  }

  private func whole(_ place: Int, _ power: Int) throws(KeyedArchiveError) -> NSNumber {
    guard power <= 4 else { throw Self.damaged }
    let bytes = try slice(place, 1 << power)
    // A number above `Int64.max` has 16 bytes, and the first eight are zero.
    if power == 4, bytes.prefix(8).contains(where: { $0 != 0 }) { throw Self.damaged }
    let value = bytes.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return power == 3 ? NSNumber(value: Int64(bitPattern: value)) : NSNumber(value: value)
  }

  private func real(_ place: Int, _ power: Int) throws(KeyedArchiveError) -> NSNumber {
    guard power == 2 || power == 3 else { throw Self.damaged }
    let value = try slice(place, 1 << power).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return power == 2
      ? NSNumber(value: Float(bitPattern: UInt32(value))) : NSNumber(value: Double(bitPattern: value))
  }

  /// The number of the items that follow, and the offset of the first one.
  private func length(_ place: Int, _ low: Int) throws(KeyedArchiveError) -> (count: Int, place: Int) {
    if low < 15 { return (low, place + 1) }
    let marker = try integer(place + 1, 1)
    guard marker >> 4 == 1, marker & 15 <= 3 else { throw Self.damaged }
    let length = 1 << (marker & 15)
    let count = try integer(place + 2, length)
    // The list cannot have more items than bytes. This check also prevents overflows.
    guard count <= bytes.count else { throw Self.damaged }
    return (count, place + 2 + length)
  }

  private func run(_ kind: Int, _ place: Int, _ low: Int) throws(KeyedArchiveError) -> PropertyListItem {
    let (count, start) = try length(place, low)
    let bytes = try slice(start, kind == 6 ? 2 * count : count)
    switch kind {
    case 4: return .data(Data(bytes))
    case 5: return .text(String(decoding: bytes, as: UTF8.self))
    default:
      let units = (0..<count).map { unit in
        UInt16(bytes[start + 2 * unit]) << 8 | UInt16(bytes[start + 2 * unit + 1])
      }
      return .text(String(decoding: units, as: UTF16.self))
    }
  }

  private mutating func container(
    _ kind: Int, _ place: Int, _ low: Int, _ depth: Int
  ) throws(KeyedArchiveError) -> PropertyListItem {
    let (count, start) = try length(place, low)
    var items: [PropertyListItem] = []
    for position in 0..<(kind == 13 ? 2 * count : count) {
      items.append(
        try item(try integer(start + position * referenceLength, referenceLength), depth + 1))
    }
    guard kind == 13 else { return .list(items) }
    var table: [String: PropertyListItem] = [:]
    for position in 0..<count {
      guard case .text(let key) = items[position] else { throw Self.damaged }
      table[key] = items[count + position]
    }
    return .table(table)
  }
}
