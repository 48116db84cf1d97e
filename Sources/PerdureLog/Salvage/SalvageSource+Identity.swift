import PerdureFormat

// Decides which segment a file is if its name and its header disagree.
//
// Either the file was renamed, or the sector with the header belongs to another file. The start of
// the file looks the same in both cases. But the checksum of a frame header covers store, segment
// and offset. So the frames after the first sector show which segment it is: for any other segment,
// none of them would be valid.
//
// The same checksums identify the store if no superblock, header or blob file is left.

extension SalvageSource {
  /// Selects the segments of this store.
  ///
  /// A file whose header names another segment is taken as that segment. If its frames match the
  /// file name instead, its header is damaged. If the frames decide nothing, the header is accepted
  /// if no other file is that segment.
  mutating func choose(_ files: [SourceSegment], _ report: inout SalvageReport) throws -> [SourceSegment] {
    var chosen: [UInt64: SourceSegment] = [:]
    var renamed: [(file: SourceSegment, claimed: UInt64?, proofs: Int)] = []
    for file in files {
      guard let header = file.header, header.number != file.number || header.store != store else {
        chosen[file.number] = file
        continue
      }
      let claimed = header.store == store ? header.number : nil
      let (own, other) = try proofs(in: file, for: file.number, claimed)
      if own > other {
        chosen[file.number] = file.withoutHeader
      } else {
        renamed.append((file, claimed, other))
      }
    }
    for (file, claimed, proofs) in renamed {
      if let claimed, chosen[claimed] == nil {
        report.add(.foreign, in: file.name, 0, file.size)
        chosen[claimed] = file.renamed(claimed)
      } else if claimed != nil && proofs == 0 && chosen[file.number] == nil {
        // There is no evidence that the file is a copy of the other segment: its header was moved
        // here.
        chosen[file.number] = file.withoutHeader
      } else {
        report.add(.foreign, in: file.name, 0, file.size)
      }
    }
    for (file, _, _) in renamed where chosen[file.number] == nil { noteMissing(file.number) }
    return chosen.values.sorted { $0.number < $1.number }
  }

  /// The number of frames in a file that match segment `own`, and the number that match segment
  /// `claimed`.
  ///
  /// In the header's sector, only a complete frame that extends beyond the sector counts. Other
  /// frames may have been moved here together with the header.
  private func proofs(
    in file: SourceSegment, for own: UInt64, _ claimed: UInt64?
  ) throws -> (own: Int, claimed: Int) {
    guard let store else { return (0, 0) }
    let content = try SegmentContent(file, self)
    let bytes = content.bytes
    var counts = (own: 0, claimed: 0)
    for place in stride(
      from: SegmentHeader.length, through: bytes.count - FrameHeader.length, by: FormatLimits.alignment)
    where FrameHeader.mayStart(bytes, at: place) {
      if proves(own, store, bytes, at: place) { counts.own += 1 }
      if let claimed, proves(claimed, store, bytes, at: place) { counts.claimed += 1 }
    }
    return counts
  }

  private func proves(_ number: UInt64, _ store: StoreID, _ bytes: UnsafeRawBufferPointer, at place: Int)
    -> Bool
  {
    let rest = bytes.part(place, bytes.count - place)
    let position = LogPosition(segment: number, offset: UInt64(place))
    guard let header = try? FrameHeader(reading: rest, store: store, position: position) else { return false }
    if place >= SalvageScan.sectorLength { return true }
    let end = place + FrameHeader.length + Int(header.payloadLength)
    return end > SalvageScan.sectorLength && Self.isWhole(header, rest)
  }
}

extension SalvageSource {
  /// The store that the frames identify. A store id is accepted if at least two sectors imply it,
  /// or if a frame that matches its records does. If there are several, the id from most sectors is
  /// used. Bytes of values that look like frames each imply another id. The frames of one moved
  /// sector imply the same id, and count once.
  static func storeOfFrames(_ files: [SourceSegment], _ source: SalvageSource) throws -> StoreID? {
    var votes: [StoreID: (sectors: Int, isWhole: Bool)] = [:]
    for file in files {
      let content = try SegmentContent(file, source)
      var last: [StoreID: Int] = [:]
      visitHeaderLikes(content.bytes, file.number) { header, place, rest in
        let store = FrameHeader.storeImplied(
          by: rest, at: LogPosition(segment: file.number, offset: UInt64(place)))
        let isWhole = isWhole(header, rest)
        let length = FrameHeader.length + (isWhole ? Int(header.payloadLength) : 0)
        let sectors = place / SalvageScan.sectorLength...(place + length - 1) / SalvageScan.sectorLength
        let unseen = sectors.count - (last[store] == sectors.lowerBound ? 1 : 0)
        let before = votes[store] ?? (0, false)
        votes[store] = (before.sectors + unseen, before.isWhole || isWhole)
        last[store] = sectors.upperBound
      }
    }
    let best = votes.max { ($0.value.sectors, $0.key.low) < ($1.value.sectors, $1.key.low) }
    return best.flatMap { $0.value.sectors > 1 || $0.value.isWhole ? $0.key : nil }
  }

  private static func visitHeaderLikes(
    _ bytes: UnsafeRawBufferPointer, _ number: UInt64,
    _ body: (FrameHeader, Int, UnsafeRawBufferPointer) -> Void
  ) {
    for place in stride(
      from: SegmentHeader.length, through: bytes.count - FrameHeader.length, by: FormatLimits.alignment)
    where FrameHeader.mayStart(bytes, at: place) {
      let rest = bytes.part(place, bytes.count - place)
      let position = LogPosition(segment: number, offset: UInt64(place))
      guard let header = try? FrameHeader(readingUnproven: rest, position: position) else { continue }
      body(header, place, rest)
    }
  }

  /// Whether a frame has records whose checksums match its header.
  private static func isWhole(_ header: FrameHeader, _ bytes: UnsafeRawBufferPointer) -> Bool {
    let length = FrameHeader.length + Int(header.payloadLength)
    guard header.kind != .mark, header.recordCount > 0, length <= bytes.count else { return false }
    return FramePayload.hasDigest(of: header, bytes.part(FrameHeader.length, Int(header.payloadLength)))
  }
}

extension SalvageSource.SourceSegment {
  fileprivate var withoutHeader: Self {
    var segment = self
    segment.header = nil
    return segment
  }

  fileprivate func renamed(_ number: UInt64) -> Self {
    var segment = self
    segment.number = number
    return segment
  }
}
