import PerdureFormat

// Decides which segment a file is if its name and its header disagree.
//
// Either the file was renamed, or the sector with the header belongs to another file. The start of
// the file looks the same in both cases. But the checksums of frames, footers and records cover
// the segment's number, so the bytes after the first sector show which segment it is
// (`SegmentEvidence`).
//
// The checksums of frames identify the store too, if no superblock, header or blob file is left.

extension SalvageSource {
  /// A file whose header names the segment `claimed`, and the evidence for both numbers.
  private struct Claim {
    let file: SourceSegment
    let claimed: UInt64
    let own: SegmentEvidence
    let other: SegmentEvidence
  }

  /// Selects the segments of this store.
  ///
  /// A file whose header names another segment is treated as that segment. If its content matches
  /// the file name instead, its header is damaged. If the content supports both equally, the header
  /// is accepted if no other file is that segment.
  mutating func choose(_ files: [SourceSegment], _ report: inout SalvageReport) throws -> [SourceSegment] {
    var chosen: [UInt64: SourceSegment] = [:]
    var claims: [Claim] = []
    for file in files {
      guard let header = file.header, header.number != file.number || header.store != store else {
        chosen[file.number] = file
        continue
      }
      let isOfStore = header.store == store
      let own = try evidence(that: file, is: file.number, countsRecords: isOfStore)
      let other = isOfStore ? try evidence(that: file, is: header.number, countsRecords: true) : .none
      if own > other {
        chosen[file.number] = file.withoutHeader
      } else if isOfStore {
        claims.append(Claim(file: file, claimed: header.number, own: own, other: other))
      } else {
        report.add(.foreign, in: file.name, 0, file.size)
      }
    }
    Self.accept(claims, &chosen, &report)
    for file in files where chosen[file.number] == nil { noteMissing(file.number) }
    return chosen.values.sorted { $0.number < $1.number }
  }

  /// Decides about the claims: files whose content matches their names no better than their
  /// headers. Each file becomes the segment of its header or the segment of its name, or is
  /// reported as foreign.
  ///
  /// Files whose content matches their header are accepted first, and then the undecided files.
  /// Undecided files whose claimed segment was found precede the others, because they can only be
  /// the segment of their name.
  private static func accept(
    _ claims: [Claim], _ chosen: inout [UInt64: SourceSegment], _ report: inout SalvageReport
  ) {
    for claim in claims.filter({ $0.other > $0.own }).sorted(by: { $0.other > $1.other }) {
      accept(claim, &chosen, &report)
    }
    var undecided = claims.filter { $0.other == $0.own }
    while !undecided.isEmpty {
      let next = undecided.firstIndex { chosen[$0.claimed] != nil } ?? undecided.startIndex
      accept(undecided.remove(at: next), &chosen, &report)
    }
  }

  private static func accept(
    _ claim: Claim, _ chosen: inout [UInt64: SourceSegment], _ report: inout SalvageReport
  ) {
    let file = claim.file
    if chosen[claim.claimed] == nil {
      report.add(.foreign, in: file.name, 0, file.size)
      chosen[claim.claimed] = file.renamed(claim.claimed)
    } else if chosen[file.number] == nil && (claim.own > .none || claim.other == .none) {
      // The file is not a copy of the other segment: only its header is from that segment.
      chosen[file.number] = file.withoutHeader
    } else {
      report.add(.foreign, in: file.name, 0, file.size)
    }
  }
}

extension SalvageSource {
  /// The store that the frames identify. A store id is accepted if at least two sectors imply it,
  /// or if one frame that matches its records implies it. If there are several, the id from most
  /// sectors is used. Values can contain bytes that look like frames, but each of these implies a
  /// different id. The frames of one moved sector imply the same id, and count once.
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
  static func isWhole(_ header: FrameHeader, _ bytes: UnsafeRawBufferPointer) -> Bool {
    let length = FrameHeader.length + Int(header.payloadLength)
    guard header.kind != .mark, header.recordCount > 0, length <= bytes.count else { return false }
    return FramePayload.hasDigest(of: header, bytes.part(FrameHeader.length, Int(header.payloadLength)))
  }
}
