import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("A log with frames that this writer does not make")
struct HandmadeLogTests {
  @Test("Marks between commits are passed over by opening, verification, compaction, readers and salvage")
  func marks() throws {
    var log = try HandmadeLog()
    try log.append(.mark, vouches: true)
    try log.append(.commitEnd, [log.row(50)])
    try log.append(.mark, vouches: true)
    try log.append(.mark, vouches: true)
    try log.append(.commitPart, part: 0, [log.row(51)])
    try log.append(.commitEnd, part: 1, [log.row(52)])
    try log.append(.mark, vouches: true)
    let ids = Array(HandmadeLog.ids) + [50, 51, 52]
    func check(_ store: Store, _ ids: [UInt64]) throws {
      var found: [UInt64] = []
      let rows = try store.keyspace("rows", .dense)
      try store.snapshot().forEach(in: rows) { (id: UInt64, _: RawSpan) in
        found.append(id)
        return true
      }
      #expect(found == ids)
      #expect(try store.verify().isClean)
    }
    _ = try Store.salvage(
      from: HandmadeLog.path, to: "/salvaged", options: HandmadeLog.options(log.fileSystem))
    var options = HandmadeLog.options(log.fileSystem)
    try check(try log.open(readOnly: true), ids)
    let store = try log.open()
    #expect(store.snapshot().sequence == log.sequence)
    try check(store, ids)
    // The log goes on behind the last of them, and compaction copies none.
    try store.write { try $0.remove(id: 51, in: log.rows) }
    try store.compact()
    try check(store, ids.filter { $0 != 51 })
    try store.close()
    try check(try log.open(), ids.filter { $0 != 51 })
    options.isReadOnly = true
    try check(try Store(at: "/salvaged", options: options), ids)
  }

  /// A frame that is right in itself and does not follow from the one before it.
  enum Misplaced: CaseIterable {
    case markOfAnother, markInCommit, sequence, part, firstPart, chain

    func append(to log: inout HandmadeLog) throws {
      switch self {
      case .markOfAnother: try log.append(.mark, sequence: 2)
      case .markInCommit:
        try log.append(.commitPart, [log.row(60)])
        try log.append(.mark)
        try log.append(part: 1, [log.row(61)])
      case .sequence: try log.append(sequence: log.sequence + 2, [log.row(60)])
      case .part:
        try log.append(.commitPart, [log.row(60)])
        try log.append(part: 2, [log.row(61)])
      case .firstPart: try log.append(part: 1, [log.row(61)])
      case .chain: try log.append(breaksChain: true, [log.row(60)])
      }
    }
  }

  @Test(
    "A frame that follows from nothing is a torn tail, and corruption when a later one vouches for it",
    arguments: Misplaced.allCases)
  func misplaced(_ misplaced: Misplaced) throws {
    for isVouchedFor in [false, true] {
      var log = try HandmadeLog()
      let last = log.sequence
      try misplaced.append(to: &log)
      if isVouchedFor { try log.append(.mark, vouches: true) }
      for readOnly in [true, false] {
        if isVouchedFor {
          let before = try log.files()
          let error = #expect(throws: StoreError.self) { try log.open(readOnly: readOnly) }
          #expect(error?.code == .corruption)
          #expect(
            error?.place?.contains(StoreFileName.segment(1).string) == true, "\(String(describing: error))")
          #expect(try log.files() == before)
        } else {
          let store = try log.open(readOnly: readOnly)
          #expect(store.snapshot().sequence == last)
          #expect(try store.snapshot().value(id: 60, in: log.rows) == nil)
          #expect(try store.verify().isClean)
        }
      }
    }
  }

  @Test(
    "Records that no writer puts into a commit are corruption that names their place, and nothing is changed")
  func records() throws {
    let id = [UInt8](repeating: 0, count: 8)
    for record in [
      HandmadeLog.record(keyspace: 9, key: id), HandmadeLog.record(keyspace: 1, key: [1, 2, 3]),
      HandmadeLog.record(
        .blob, keyspace: 0, key: id, value: [UInt8](repeating: 0, count: BlobReference.length)),
    ] {
      var log = try HandmadeLog()
      let place = log.end.offset + UInt64(FrameHeader.length)
      try log.append(.commitEnd, [record])
      let before = try log.files()
      for readOnly in [true, false] {
        let error = #expect(throws: StoreError.self) { try log.open(readOnly: readOnly) }
        #expect(error?.code == .corruption)
        #expect(
          error?.place?.contains(StoreFileName.segment(1).string) == true, "\(String(describing: error))")
        #expect(
          error?.place?.split(separator: " ").last.flatMap { UInt64($0) }.map {
            (place..<(place + UInt64(record.count))).contains($0)
          } == true, "\(place): \(String(describing: error))")
      }
      #expect(try log.files() == before)
    }
  }

  @Test("A commit that was promised and has no end is corruption, and one that was not is taken back")
  func promised() throws {
    for isPromised in [false, true] {
      var log = try HandmadeLog()
      let start = log.end
      try log.append(.commitPart, [log.row(60)])
      if isPromised {
        try log.changeSuperblock {
          $0.durableEnd = log.end
          $0.durableSequence = log.sequence
        }
        let error = #expect(throws: StoreError.self) { try log.open() }
        #expect(error?.code == .corruption)
        #expect(error?.place?.hasSuffix(" \(start.offset)") == true, "\(String(describing: error))")
      } else {
        #expect(try log.open().snapshot().value(id: 60, in: log.rows) == nil)
      }
    }
  }

  @Test("A store with features of a newer version that only writers must know is read, and not written")
  func features() throws {
    let log = try HandmadeLog()
    try log.changeSuperblock { $0.readOnlyCompatibleFeatures = 1 << 40 }
    let before = try log.files()
    let error = #expect(throws: StoreError.self) { try log.open() }
    #expect(error?.code == .unsupportedFormat)
    #expect(error?.message.contains("newer") == true)
    let reader = try log.open(readOnly: true)
    #expect(try reader.snapshot().value(id: 1, in: log.rows) == [1, 2, 3])
    #expect(try log.files() == before)
  }
}

@Suite("A store that stands where another stood")
struct ReplacedStoreTests {
  @Test("A reader says so when it is refreshed, and goes on to read what it had")
  func refresh() throws {
    let log = try HandmadeLog()
    let reader = try log.open(readOnly: true)
    // Another one, with more commits.
    let other = try HandmadeLog()
    let writer = try other.open()
    try writer.write { try $0.put([9], id: 1, in: other.rows) }
    for (name, bytes) in try other.fileSystem.files(in: HandmadeLog.path) where name != "LOCK" {
      try log.fileSystem.remove(HandmadeLog.path + "/" + name)
      try log.fileSystem.open(HandmadeLog.path + "/" + name, .create).write(bytes, at: 0)
    }
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) { try reader.refresh() }
      #expect(error?.code == .notAStore)
      #expect(try reader.snapshot().value(id: 1, in: log.rows) == [1, 2, 3])
    }
    try reader.close()
    #expect(try log.open(readOnly: true).snapshot().value(id: 1, in: other.rows) == [9])
  }
}
