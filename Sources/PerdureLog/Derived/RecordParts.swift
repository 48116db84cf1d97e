// The parts of a changed record that an index follows from.
//
// Most changes of a record concern one part of it, and most indexes another part. The code that
// encodes records knows both. So a record is compared with the previous version once, and indexes
// whose parts did not change are skipped.

/// An extractor that knows from which parts of a record its entries follow.
///
/// Parts are bits, each for any part of the record. A superfluous bit costs time; a missing one
/// makes an index wrong.
package protocol PartwiseExtractor: IndexExtractor {
  /// What numbers the parts: extractors of one keyspace with the same numbering can use each
  /// other's comparison.
  var numbering: ObjectIdentifier { get }

  /// The parts of the records of a keyspace that the entries follow from.
  func parts(ofKeyspace keyspace: UInt32) -> UInt64

  /// The parts in which two records of one key differ; all for records that cannot be compared. The
  /// other parts are equal, as far as an extractor with this numbering reads them. The buffers are
  /// valid during the call only.
  func changedParts(
    keyspace: UInt32, key: UnsafeRawBufferPointer, from old: UnsafeRawBufferPointer,
    to new: UnsafeRawBufferPointer
  ) -> UInt64
}

extension IndexSet {
  /// The indexes over the records of one keyspace. A class, because it is passed along with every
  /// record.
  final class KeyspaceIndexes: Sendable {
    let all: [RecordIndex]
    /// For each index the parts that it follows from.
    private let parts: [UInt64]
    /// An extractor that numbers the parts.
    private let comparing: (any PartwiseExtractor)?

    init(_ all: [RecordIndex], over keyspace: UInt32) {
      let partwise = all.map { $0.extractor as? any PartwiseExtractor }
      let comparing = partwise.lazy.compactMap { $0 }.first
      self.all = all
      self.comparing = comparing
      parts = partwise.map { extractor in
        guard let extractor, extractor.numbering == comparing?.numbering else { return .max }
        return extractor.parts(ofKeyspace: keyspace)
      }
    }

    /// Calls `body` with each index that may have other entries for a record than for the one
    /// before.
    @inline(__always)
    func forEach(
      keyspace: UInt32, key: UnsafeRawBufferPointer, from old: UnsafeRawBufferPointer?,
      to new: UnsafeRawBufferPointer?, _ body: (RecordIndex) -> Void
    ) {
      guard let old, let new, let comparing else { return all.forEach(body) }
      let changed = comparing.changedParts(keyspace: keyspace, key: key, from: old, to: new)
      for position in all.indices where parts[position] & changed != 0 { body(all[position]) }
    }
  }
}
