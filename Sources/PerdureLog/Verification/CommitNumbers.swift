import PerdureFormat

/// Finds the commits that wrote records. A record does not contain the number of its commit. So
/// this code searches for the record's frame, which contains the number.
///
/// The offsets of the frames are cached for some segments.
package struct CommitNumbers {
  private let snapshot: Snapshot
  /// The frames of each segment: the offset at which a frame's records begin, and its sequence
  /// number.
  private var frames: [UInt64: [(offset: Int, sequence: UInt64)]] = [:]

  private static let segmentsKeptMax = 64

  package init(_ snapshot: Snapshot) { self.snapshot = snapshot }

  /// The sequence number of the commit that wrote a version in the snapshot; nil if its frame
  /// cannot be read.
  ///
  /// - Complexity: O(log n) for n frames in the segment, after the first call for this segment.
  package mutating func sequence(of version: RecordVersion) -> UInt64? {
    let address = RecordAddress(rawValue: version.rawValue)
    guard let offset = snapshot.root.offset(of: address) else { return nil }
    let known = frames[address.segment] ?? list(address)
    // Find the last frame that begins before the record.
    var (low, high) = (0, known.count)
    while low < high {
      let middle = (low + high) / 2
      if known[middle].offset <= offset { low = middle + 1 } else { high = middle }
    }
    return low == 0 ? nil : known[low - 1].sequence
  }

  private mutating func list(_ address: RecordAddress) -> [(offset: Int, sequence: UInt64)] {
    guard var body = snapshot.root.body(around: address) else { return [] }
    let listed = read(address.segment, &body)
    if frames.count >= Self.segmentsKeptMax { frames.removeAll() }
    frames[address.segment] = listed
    return listed
  }

  private func read(_ number: UInt64, _ body: inout SegmentBody) -> [(offset: Int, sequence: UInt64)] {
    var listed: [(offset: Int, sequence: UInt64)] = []
    var offset = SegmentHeader.length
    while offset + FrameHeader.length <= body.end {
      let position = LogPosition(segment: number, offset: UInt64(offset))
      guard let bytes = try? body.bytes(offset..<(offset + FrameHeader.length)),
        let header = try? FrameHeader(reading: bytes, store: snapshot.engine.storeID, position: position)
      else { break }
      offset += FrameHeader.length
      listed.append((offset, header.sequence))
      offset += Int(header.payloadLength)
    }
    return listed
  }
}
