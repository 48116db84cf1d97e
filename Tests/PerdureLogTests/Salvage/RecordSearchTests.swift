import PerdureFormat
import Testing

@testable import PerdureLog

@Suite("Searching records in damaged frames")
struct RecordSearchTests {
  /// A record with its checksum and padding.
  private func record(key: [UInt8], value: [UInt8]) -> [UInt8] {
    var batch = WriteBatch()
    key.withUnsafeBytes { key in
      value.withUnsafeBytes { batch.append(.put, keyspace: 1, key: key, value: $0) }
    }
    return Array(batch.records.bytes)
  }

  private func search(_ bytes: [UInt8], count: Int) -> (found: [Range<Int>], damages: [Range<Int>]) {
    bytes.withUnsafeBytes { bytes in
      let search = RecordSearch(inFrame: bytes, at: 0, count: count, endIsKnown: true, .unbound)
      return (search.found.map { $0.offset..<($0.offset + $0.length) }, search.damages)
    }
  }

  @Test("Damage in a value loses only its record, even if the value contains bytes of a record")
  func damagedValue() {
    let (a, b, c) = (
      record(key: [1], value: [1]), record(key: [2], value: record(key: [7], value: [7])),
      record(key: [3], value: [])
    )
    var bytes = a + b + c
    bytes[a.count + 18] ^= 1
    let result = search(bytes, count: 3)
    #expect(result.found == [0..<a.count, (a.count + b.count)..<bytes.count])
    #expect(result.damages == [a.count..<(a.count + b.count)])
  }

  @Test("After a damaged length, the next record is found, but no record inside the value")
  func damagedLength() {
    let inner = record(key: [7], value: [7])
    // The key has 8 bytes, so the value begins at a multiple of 8.
    let (a, b, c) = (
      record(key: [1], value: [1]),
      record(key: [2, 2, 2, 2, 2, 2, 2, 2], value: inner + [9, 9, 9, 9, 9, 9, 9, 9]),
      record(key: [3], value: [])
    )
    var bytes = a + b + c
    bytes[a.count + 12] ^= 8
    let result = search(bytes, count: 3)
    #expect(result.found == [0..<a.count, (a.count + b.count)..<bytes.count])
    // In a gap, the number of records is unknown.
    bytes.withUnsafeBytes { bytes in
      let search = RecordSearch(inGap: bytes, at: 0, from: 0, endIsKnown: true, .unbound)
      #expect(search.found.map(\.isAnchored) == [true, false, true])
    }
  }

  @Test("If a value at the end of a frame looks like a record, it is not restored as a record")
  func damagedLengthAtEnd() {
    let (a, b) = (
      record(key: [1], value: [1]),
      record(key: [2, 2, 2, 2, 2, 2, 2, 2], value: record(key: [7], value: []))
    )
    var bytes = a + b
    bytes[a.count + 12] ^= 64
    let result = search(bytes, count: 2)
    #expect(result.found == [0..<a.count])
    #expect(result.damages == [a.count..<bytes.count])
  }

  @Test("If a damaged length extends over later records, only the record with that length is lost")
  func damagedLengthOverOthers() {
    let parts = (1...4 as ClosedRange<UInt8>).map {
      record(key: [$0], value: Array(repeating: $0, count: 15))
    }
    let length = parts[0].count
    #expect(length == 32)
    for (first, isLast) in [(1, false), (2, true)] {
      var bytes = Array(parts.joined())
      bytes[first * length + 12] ^= 32
      let result = search(bytes, count: 4)
      #expect(result.found.map(\.lowerBound) == [0, 1, 2, 3].filter { $0 != first }.map { $0 * length })
      #expect(result.damages == [(first * length)..<((first + 1) * length)], "\(isLast)")
    }
  }

  @Test("For any bytes, the found records and damages cover all bytes without gaps")
  func noise() {
    var bytes: [UInt8] = []
    for seed in 0..<200 as Range<UInt8> {
      bytes = (0..<257).map { place in UInt8(truncatingIfNeeded: place &* 7) & (seed % 4) &+ UInt8(place % 3)
      }
      bytes += record(key: [seed], value: bytes.suffix(9))
      let result = search(bytes, count: Int(seed))
      let covered = (result.found + result.damages).sorted { $0.lowerBound < $1.lowerBound }
      #expect(covered.first?.lowerBound == 0 && covered.last?.upperBound == bytes.count)
      #expect(zip(covered, covered.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
    }
  }
}

@Suite("Decisions about commits in a salvage")
struct CommitFatesTests {
  private func frame(_ sequence: UInt64, part: UInt32 = 0, isEnd: Bool = true) -> FrameHeader {
    FrameHeader(
      kind: isEnd ? .commitEnd : .commitPart, part: part, sequence: sequence, payloadLength: 0,
      recordCount: 0,
      recordDigest: 0, chainDigest: 0, syncedOffset: 128)
  }

  private func run(_ fates: inout CommitFates, _ header: FrameHeader) -> [CommitFates.Verdict] {
    [fates.meet(header), fates.take(header, isWhole: true)].compactMap { $0 }
  }

  @Test("Complete commits are restored")
  func whole() {
    var fates = CommitFates()
    #expect(run(&fates, frame(1)) == [.counts(partly: nil)])
    #expect(run(&fates, frame(2, isEnd: false)) == [])
    #expect(run(&fates, frame(2, part: 1)) == [.counts(partly: nil)])
    #expect(fates.finish(durableSequence: 0) == nil)
    #expect(fates.sequence == 2)
  }

  @Test(
    "A commit without an end is restored if a later commit follows, but not if the same commit begins again")
  func unfinished() {
    var fates = CommitFates()
    _ = run(&fates, frame(1, isEnd: false))
    #expect(run(&fates, frame(2)) == [.counts(partly: 1), .counts(partly: nil)])
    _ = run(&fates, frame(3, isEnd: false))
    #expect(run(&fates, frame(3)) == [.neverFinished, .counts(partly: nil)])
  }

  @Test("At the end of the log, an incomplete commit is restored only if the superblock promises it")
  func end() {
    for (durable, verdict) in [(4 as UInt64, .neverFinished), (5, .counts(partly: 5))]
      as [(UInt64, CommitFates.Verdict)]
    {
      var fates = CommitFates()
      _ = run(&fates, frame(4))
      _ = run(&fates, frame(5, isEnd: false))
      #expect(fates.finish(durableSequence: durable) == verdict)
    }
  }

  @Test(
    "A commit with a damaged end is restored if the superblock promises it or may be old, or if a commit follows"
  )
  func damagedEnd() {
    for (promised, isLast, verdict) in [
      (4, true, .neverFinished), (5, true, .counts(partly: 5)), (4, false, .counts(partly: 5)),
    ] as [(UInt64, Bool, CommitFates.Verdict)] {
      var fates = CommitFates()
      _ = run(&fates, frame(4))
      #expect(fates.meet(frame(5)) == nil && fates.take(frame(5), isWhole: false) == nil)
      #expect(fates.finish(durableSequence: promised, isLast: isLast) == verdict)
    }
    var fates = CommitFates()
    _ = run(&fates, frame(4))
    #expect(fates.take(frame(5), isWhole: false) == nil)
    #expect(run(&fates, frame(6)) == [.counts(partly: 5), .counts(partly: nil)])
  }

  @Test(
    "Records in a gap are restored if a commit number fits in the gap, or if their chain continues after it")
  func gaps() {
    var fates = CommitFates()
    _ = run(&fates, frame(1))
    fates.takeGap()
    #expect(run(&fates, frame(3)) == [.counts(partly: nil), .counts(partly: nil)])
    fates.takeGap()
    #expect(run(&fates, frame(4)) == [.neverFinished, .counts(partly: nil)])
    fates.takeGap()
    #expect(run(&fates, frame(5, part: 1)) == [.counts(partly: 5)])
    fates.takeGap()
    #expect(fates.finish(durableSequence: 5) == .neverFinished)
    fates.takeGap()
    #expect(fates.finish(durableSequence: 6) == .counts(partly: nil))
  }

  @Test("Commits without any frame are lost")
  func lost() {
    var fates = CommitFates()
    _ = run(&fates, frame(1))
    _ = fates.meet(frame(5))
    #expect(fates.lost == 2...4)
    _ = fates.take(frame(5), isWhole: true)
    _ = fates.finish(durableSequence: 7)
    #expect(fates.lost == 6...7)
  }
}
