// A relationship with many objects, some at a time.

extension ToMany {
  /// The objects in batches, for loops over more than should be in memory at once. The objects of a
  /// batch are faults, whose rows are read together when they are touched; when a batch is
  /// released, its objects without changes are freed.
  ///
  ///     for batch in company.workers.batches(of: 500) { total += batch.reduce(0) { $0 + $1.salary } }
  ///
  /// They are the objects that are connected when an iteration begins; changes during it do not
  /// disturb it.
  ///
  /// - Parameter count: How many objects a batch has, at least 1; the last one may have fewer.
  /// - Complexity: O(n) for the references of n objects at the beginning, 8 bytes each; then
  ///   O(count) a batch.
  public func batches(of count: Int) -> ToManyBatches<Element> {
    precondition(count > 0, "A batch has at least one object.")
    return ToManyBatches(objects: self, count: count)
  }
}

/// The objects of a relationship, some at a time; see `ToMany.batches(of:)`.
public struct ToManyBatches<Object: ManagedObject>: Sequence {
  let objects: ToMany<Object>
  let count: Int

  /// The batches of the objects that are connected now.
  public func makeIterator() -> Iterator { Iterator(walk: objects.makeIterator(), count: count) }

  /// Hands out one batch after the other.
  public struct Iterator: IteratorProtocol {
    var walk: ToMany<Object>.Iterator
    let count: Int

    /// The next batch; nil when there is none.
    public mutating func next() -> [Object]? {
      var batch: [Object] = []
      while batch.count < count, let object = walk.next() { batch.append(object) }
      return batch.isEmpty ? nil : batch
    }
  }
}

@available(*, unavailable)
extension ToManyBatches: Sendable {}
@available(*, unavailable)
extension ToManyBatches.Iterator: Sendable {}
