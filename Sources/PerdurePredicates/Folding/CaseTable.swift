// Upper and lower case of one scalar, from Perdure's own tables (StringFolding.swift has the
// reason).
//
// The mappings are the full ones, scalar by scalar, without rules for languages or for positions in
// a word. They equal those of `String.uppercased()` and `lowercased()` for the scalars of Unicode
// 14. Scalars that were added to Unicode later do not change.

struct CaseTable: Sendable {
  /// Scalars whose distance to their mapping is the same.
  private struct Run {
    let first: UInt32
    let last: UInt32
    let step: UInt32
    let distance: Int64
  }

  static let lower = CaseTable(CaseTableData.lower, letters: UInt8(ascii: "A")...UInt8(ascii: "Z"))
  static let upper = CaseTable(CaseTableData.upper, letters: UInt8(ascii: "a")...UInt8(ascii: "z"))

  /// The runs, ascending and disjoint.
  private var runs: [Run] = []
  /// The scalars that map to several scalars, ascending.
  private var growing: [(scalar: UInt32, to: [UInt32])] = []

  /// The ASCII letters to change. Other ASCII characters do not change.
  private let letters: ClosedRange<UInt8>

  private init(_ data: StaticString, letters: ClosedRange<UInt8>) {
    self.letters = letters
    for entry in FoldingTable.entries(of: data) {
      if entry.contains(UInt8(ascii: ":")) {
        let parts = entry.split(separator: UInt8(ascii: ":"))
        let scalars = parts[1].split(separator: UInt8(ascii: "+")).map(FoldingTable.hexadecimal)
        growing.append((FoldingTable.hexadecimal(parts[0]), scalars))
      } else {
        let run = FoldingTable.run(entry)
        runs.append(Run(first: run.first, last: run.last, step: run.step, distance: run.distance))
      }
    }
  }

  /// The text in this case, as UTF-8. Bytes that are not UTF-8 become U+FFFD.
  func mapped(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var mapped: [UInt8] = []
    mapped.reserveCapacity(bytes.count + bytes.count / 2)
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte < 0x80 {
        mapped.append(letters.contains(byte) ? byte ^ 0x20 : byte)
        index += 1
      } else {
        let (scalar, length) = UTF8Scalar.decode(bytes, at: index)
        index += length
        append(scalar, to: &mapped)
      }
    }
    return mapped
  }

  private func append(_ scalar: UInt32, to bytes: inout [UInt8]) {
    let place = growing.partition { $0.scalar >= scalar }
    if place < growing.count, growing[place].scalar == scalar {
      for part in growing[place].to { UTF8Scalar.encode(part, into: &bytes) }
      return
    }
    let next = runs.partition { $0.first > scalar }
    if next > 0 {
      let run = runs[next - 1]
      if scalar <= run.last, (scalar - run.first) % run.step == 0 {
        return UTF8Scalar.encode(UInt32(Int64(scalar) + run.distance), into: &bytes)
      }
    }
    UTF8Scalar.encode(scalar, into: &bytes)
  }
}

extension Array {
  /// The index of the first element that satisfies the condition; `count` if there is none. All
  /// later elements must satisfy it too. O(log n).
  fileprivate func partition(where holds: (Element) -> Bool) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if holds(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
