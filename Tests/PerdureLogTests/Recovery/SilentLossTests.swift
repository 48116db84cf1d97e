import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

/// FORMAT.md, M4, says which acknowledged commits are lost silently if a medium damages bytes
/// outside of a torn write.
@Suite("Damage at the end of the log")
struct SilentLossTests {
  private static let path = "/store.perdure"

  private struct Frame {
    var range: Range<Int>
    var header: FrameHeader
  }

  /// The segment of a store, with its frames and the promise of its superblock.
  private struct Log {
    var image: CrashImage
    var bytes: [UInt8] = []
    var frames: [Frame] = []
    var durableEnd = 0

    static let segment = SilentLossTests.path + "/" + StoreFileName.segment(1).string

    init(_ image: CrashImage) throws {
      self.image = image
      bytes = image.bytes(at: Self.segment) ?? []
      let superblock = try (image.bytes(at: SilentLossTests.path + "/SUPERBLOCK") ?? []).withUnsafeBytes {
        try Superblock.newest(in: $0)
      }
      durableEnd = superblock.durableEnd.segment == 1 ? Int(superblock.durableEnd.offset) : 0
      frames = bytes.withUnsafeBytes { bytes in
        var frames: [Frame] = []
        var search = SegmentSearch(bytes, 1, superblock.store, end: nil, durableEnd: 0)
        while let piece = search.next() {
          guard case .frame(let header, let start, let payload) = piece else { continue }
          frames.append(Frame(range: start..<payload.upperBound, header: header))
        }
        return frames
      }
    }

    /// The last commit that an opening must find if these bytes are damaged; nil means corruption.
    ///
    /// M4: the damage is detected if a promise covers the first damaged frame. A promise is in the
    /// superblock or in a valid later header.
    func lastSequence(damaged: Range<Int>) -> UInt64? {
      guard let first = frames.firstIndex(where: { $0.range.overlaps(damaged) }) else {
        return frames.last?.header.sequence
      }
      let start = frames[first].range.lowerBound
      let promises = frames[(first + 1)...].filter { frame in
        !damaged.overlaps(frame.range.lowerBound..<(frame.range.lowerBound + FrameHeader.length))
      }.map { Int($0.header.syncedOffset) }
      guard max(durableEnd, promises.max() ?? 0) <= start else { return nil }
      return first == 0 ? 0 : frames[first - 1].header.sequence
    }
  }

  private static func options(_ fileSystem: any FileSystem) -> StoreOptions {
    var options = StoreOptions()
    options.fileSystem = fileSystem
    options.checkpoints = .manual
    options.compactsAutomatically = false
    options.reserveBytes = 0
    return options
  }

  /// Makes twelve commits with the durability `powerLoss`.
  ///
  /// - Parameter isVouched: Whether the store is closed, so that a superblock promises all commits.
  private func log(isVouched: Bool = false) throws -> Log {
    let fileSystem = SimulatedFileSystem()
    let store = try Store(at: Self.path, options: Self.options(fileSystem))
    let rows = try store.keyspace("rows", .dense)
    for id in 1...11 as ClosedRange<UInt64> {
      let value = [UInt8](repeating: UInt8(id), count: Int(id) * 20)
      try store.write(durability: .powerLoss) { try $0.put(value, id: id, in: rows) }
    }
    if isVouched { try store.close() }
    return try Log(fileSystem.currentImage)
  }

  /// The last commit that an opening finds; nil means corruption.
  private func open(_ log: Log, damaged: Range<Int>) throws -> UInt64? {
    var (image, bytes) = (log.image, log.bytes)
    for place in damaged { bytes[place] ^= UInt8(truncatingIfNeeded: place &* 37 | 1) }
    image.setBytes(bytes, at: Log.segment)
    do {
      let store = try Store(at: Self.path, options: Self.options(image.fileSystem()))
      return store.snapshot().sequence
    } catch let error as StoreError {
      #expect(error.code == .corruption, "\(error)")
      return nil
    }
  }

  @Test(
    "Damage to a commit before the last valid promise is corruption; later damage is not detected"
  )
  func bothSides() throws {
    var random = SeededGenerator.forTest("silent loss")
    let log = try log()
    let end = try #require(log.frames.last?.range.upperBound)
    var (silent, found) = (0, 0)
    for _ in 0..<600 {
      let start = random.pick(SegmentHeader.length..<end)
      let damaged = start..<min(end, start + random.pick([1, 16, 64, 300, 2000]))
      let expected = log.lastSequence(damaged: damaged)
      #expect(try open(log, damaged: damaged) == expected, "bytes \(damaged), seed \(random.seed)")
      if expected == nil { found += 1 } else { silent += 1 }
    }
    print("\(found) found, \(silent) silent")
    #expect(found > 100 && silent > 20)
  }

  @Test("Damage to the last acknowledged commit is not detected, damage to the previous one is corruption")
  func lastCommit() throws {
    let log = try log()
    let commits = log.frames.filter { $0.header.kind == .commitEnd }
    let (before, last) = (commits[commits.count - 2], commits[commits.count - 1])
    #expect(last.header.syncedOffset == UInt64(last.range.lowerBound))
    #expect(
      try open(log, damaged: (last.range.upperBound - 9)..<last.range.upperBound) == last.header.sequence - 1)
    #expect(try open(log, damaged: (before.range.upperBound - 9)..<before.range.upperBound) == nil)
    // A commit can also be lost if the header that promises it is damaged too.
    let both = (before.range.upperBound - 9)..<(last.range.lowerBound + FrameHeader.length)
    #expect(try open(log, damaged: both) == before.header.sequence - 1)
  }

  @Test("If a superblock promises the end of the log, damage to any commit is corruption")
  func vouched() throws {
    let log = try log(isVouched: true)
    for frame in log.frames where frame.header.kind != .mark {
      #expect(try open(log, damaged: frame.range) == nil)
    }
  }
}
