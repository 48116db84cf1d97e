import PerdureFileIO
import PerdureFormat

/// The decoders of this module, for tests with arbitrary bytes.
package enum LogDecoders {
  /// The maximum number of visited entries of a tree.
  private static let stepsMax = 10_000

  /// The position of a tree in an index file, as in a root block.
  package struct Root: Sendable {
    package var isDense: Bool
    package var slot: UInt32
    package var height: Int
    package var count: Int

    package init(isDense: Bool, slot: UInt32, height: Int, count: Int) {
      (self.isDense, self.slot, self.height, self.count) = (isDense, slot, height, count)
    }
  }

  /// Adds definitions to a catalog. Returns the resulting number of keyspaces, indexes and
  /// dictionaries.
  package static func catalog(_ entries: [(key: [UInt8], value: [UInt8])]) throws -> Int {
    let records = entries.map { CatalogRecord.Entry(key: $0.key, value: $0.value) }
    let catalog = try Catalog(records, of: StoreID(high: 1, low: 2))
    return catalog.keyspaces.count + catalog.indexes.count + catalog.dictionaries.count
  }

  /// Reads a table of segment usage; returns it encoded.
  package static func segmentUsage(_ bytes: UnsafeRawBufferPointer) throws -> [UInt8] {
    try SegmentUsageTable(decoding: bytes).encode()
  }

  /// Walks and searches a tree in an index file. Each node is checked at its first use.
  ///
  /// - Parameter file: The file's bytes, aligned to 8 bytes.
  /// - Returns: The number of entries visited.
  package static func walk(_ file: UnsafeRawBufferPointer, from root: Root) throws -> Int {
    let nodes = try MappedNodes(file, lastSegment: 1 << 20)
    let image = TreeImage(
      slot: NodeSlot(number: root.slot), height: root.height, count: root.count, tag: 0)
    var steps = 0
    if root.isDense {
      let table = try DenseTable(image, in: nodes.records)
      var cursor = DenseCursor(table)
      while steps < stepsMax, cursor.next(), !nodes.isDamaged {
        _ = table.get(cursor.id)
        steps += 1
      }
      _ = table.count(in: 5...(1 << 40))
    } else {
      let tree = try OrderedTree(image, in: nodes.entries)
      var cursor = OrderedCursor(tree)
      while steps < stepsMax, cursor.next(), !nodes.isDamaged {
        _ = tree.get(cursor.key)
        steps += 1
      }
      _ = KeyRange.prefix([0x61]).withRaw { tree.count(in: $0) }
    }
    try nodes.check()
    return steps
  }

  /// Writes the slot and the checksum into each node of a file. Skips bytes that do not look like a
  /// node.
  package static func sealNodes(in file: UnsafeMutableRawBufferPointer) {
    for isBlock in [true, false] {
      var offset = NodeSlot.unitByteCount
      while offset + NodeSlot.unitByteCount <= file.count {
        offset += max(1, seal(file, at: offset, isBlock: isBlock)) * NodeSlot.unitByteCount
      }
    }
  }

  /// Seals a node, and returns its number of units; 0 for bytes that are not a node.
  private static func seal(_ file: UnsafeMutableRawBufferPointer, at offset: Int, isBlock: Bool) -> Int {
    guard let start = file.baseAddress, let nodeClass = NodeClass(rawValue: file[offset + 13]) else {
      return 0
    }
    let base = start + offset
    let byteCount =
      nodeClass == .block
      ? BlockView.bytesOffset + min(max(0, BlockView(base).length), 1 << 16) : nodeClass.byteCount
    let unitCount = NodeSlot.unitCount(byteCount)
    let units = unitCount * NodeSlot.unitByteCount
    guard offset + units <= file.count else { return 0 }
    guard isBlock == (nodeClass == .block) else { return unitCount }
    let header = NodeHeader(base)
    header.slot = NodeSlot(number: UInt32(offset / NodeSlot.unitByteCount))
    var checksum = NodeChecksum.of(UnsafeRawBufferPointer(start: base, count: units))
    if nodeClass == .orderedNode, OrderedNode(base).hasBlocks {
      let check = NodeCheck(file: UnsafeRawBufferPointer(file), lastSegment: nil)
      checksum =
        (try? check.checksumIncludingBlocks(of: OrderedNode(base), at: offset, continuing: checksum))
        ?? checksum
    }
    header.stamp = NodeSlot.fileStampBit | UInt64(checksum)
    return unitCount
  }
}
