// The parts of a changed record that an index depends on.
//
// Most changes of a record concern one part of it, and most indexes depend on another part. The
// code that encodes records knows both. So a record is compared with its previous version once, and
// indexes whose parts did not change are skipped.

/// An extractor that knows on which parts of a record its entries depend.
///
/// Each part of a record is assigned to a bit. A superfluous bit costs time. A missing bit makes an
/// index wrong.
package protocol PartwiseExtractor: IndexExtractor {
  /// Identifies the numbering of the parts. Extractors of one keyspace with the same numbering can
  /// use each other's comparison.
  var numbering: ObjectIdentifier { get }

  /// The parts of a keyspace's records on which the entries depend.
  func parts(ofKeyspace keyspace: UInt32) -> UInt64

  /// The parts in which two records of one key differ; all parts if the records cannot be compared.
  /// Parts that are not returned are equal in all bytes that an extractor with this numbering
  /// reads. The buffers are valid only during the call.
  func changedParts(
    keyspace: UInt32, key: UnsafeRawBufferPointer, from old: UnsafeRawBufferPointer,
    to new: UnsafeRawBufferPointer
  ) -> UInt64
}

extension IndexSet {
  /// The indexes over the records of one keyspace. It is a class, because it is passed along with
  /// every record.
  final class KeyspaceIndexes: Sendable {
    /// The value for keyspaces without indexes.
    static let none = KeyspaceIndexes([], over: 0)

    let all: [RecordIndex]
    /// The ids of all indexes that a changed record may change: `all`, and the indexes that are
    /// made from them.
    let changedIndexes: [UInt32]
    /// The parts on which each index depends.
    private let parts: [UInt64]
    /// The extractor that compares records for all indexes with its numbering.
    private let comparing: (any PartwiseExtractor)?

    init(_ all: [RecordIndex], over keyspace: UInt32) {
      let partwise = all.map { $0.extractor as? any PartwiseExtractor }
      let comparing = partwise.lazy.compactMap { $0 }.first
      self.all = all
      changedIndexes = all.flatMap { [$0.index.id] + $0.dependents.map(\.id) }
      self.comparing = comparing
      parts = partwise.map { extractor in
        guard let extractor, extractor.numbering == comparing?.numbering else { return .max }
        return extractor.parts(ofKeyspace: keyspace)
      }
    }

    /// Calls `body` with each index whose entries may differ between the old and the new record.
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
