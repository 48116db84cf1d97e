// Access to a to-many relationship in batches.

extension ToMany {
  /// The objects in batches, for loops over more objects than fit in memory. The objects of a batch
  /// are faults, and their rows are read together when one of them fires. When a batch is released,
  /// its objects without changes are freed.
  ///
  ///     for batch in company.workers.batches(of: 500) { total += batch.reduce(0) { $0 + $1.salary } }
  ///
  /// An iteration has the objects that are connected at its beginning. Later changes do not affect
  /// it.
  ///
  /// - Parameter count: The number of objects in a batch, at least 1. The last batch may have
  ///   fewer.
  /// - Complexity: O(n) when the iteration begins: it collects n references of 8 bytes each. Then
  ///   O(count) for each batch.
  public func batches(of count: Int) -> ToManyBatches<Element> {
    precondition(count > 0, "A batch has at least one object.")
    return ToManyBatches(objects: self, count: count)
  }
}

/// The objects of a relationship in batches; see `ToMany.batches(of:)`.
public struct ToManyBatches<Object: ManagedObject>: Sequence {
  let objects: ToMany<Object>
  let count: Int

  /// The batches of the objects that are connected now.
  public func makeIterator() -> Iterator { Iterator(walk: objects.makeIterator(), count: count) }

  /// Returns one batch after the other.
  public struct Iterator: IteratorProtocol {
    var walk: ToMany<Object>.Iterator
    let count: Int

    /// The next batch; nil at the end.
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
