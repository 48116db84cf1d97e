import PerdureFileIO
import PerdureFormat

// Decides to which store the files belong if they disagree, for example after a SUPERBLOCK or a
// segment of another store was copied in.
//
// The store of most segments is selected, because only records of segments can be restored. A
// segment belongs to the store for which its frames are valid: their checksums cover the store's
// id. A segment without a valid frame belongs to the store that its header names. If two stores
// have the same number of segments, the store of most blob files is selected (of the first 100). If
// these numbers are equal too, the store of the superblock is selected.

extension SalvageSource {
  private struct Votes {
    var segments = 0
    var blobs = 0
    var superblocks = 0

    static func < (a: Votes, b: Votes) -> Bool {
      (a.segments, a.blobs, a.superblocks) < (b.segments, b.blobs, b.superblocks)
    }
  }

  /// The store to which most files belong. If only frames are left, it is an id that makes their
  /// checksums valid.
  func mostEvidentStore(_ files: [SourceSegment], _ blobs: [UInt64]) throws -> StoreID? {
    let named = Set(files.compactMap { $0.header?.store })
    if let own = superblock?.store, named == [own] { return own }
    var votes: [StoreID: Votes] = [:]
    for store in try blobStores(blobs) { votes[store, default: Votes()].blobs += 1 }
    if let superblock { votes[superblock.store, default: Votes()].superblocks += 1 }
    let candidates = named.union(votes.keys)
    for file in files {
      guard let store = try store(of: file, among: candidates) ?? file.header?.store else { continue }
      votes[store, default: Votes()].segments += 1
    }
    if votes.values.allSatisfy({ $0.segments == 0 && $0.blobs == 0 }) {
      if let store = try Self.storeOfFrames(files, self) { return store }
    }
    // The id breaks ties, so that the result is always the same.
    return votes.max { $0.value < $1.value || !($1.value < $0.value) && $0.key.high < $1.key.high }?.key
  }

  /// The candidate for which a file has the most valid frames; nil if no frame is valid for any of
  /// them.
  private func store(of file: SourceSegment, among candidates: Set<StoreID>) throws -> StoreID? {
    let content = try SegmentContent(file, self)
    let numbers = Set([file.number, file.header?.number ?? file.number])
    var best: (store: StoreID, count: Int)?
    for candidate in candidates.sorted(by: { $0.high < $1.high }) {
      let count = numbers.map { SegmentContent.frameCount(in: content.bytes, $0, candidate) }.max() ?? 0
      if count > best?.count ?? 0 { best = (candidate, count) }
    }
    return best?.store
  }

  private func blobStores(_ numbers: [UInt64]) throws -> [StoreID] {
    try numbers.prefix(100).compactMap { number in
      guard let bytes = try bytesIfReadable(StoreFileName.blob(number).string, 0, BlobHeader.length) else {
        return nil
      }
      return try? bytes.withUnsafeBytes { try BlobHeader(reading: $0) }.store
    }
  }
}
