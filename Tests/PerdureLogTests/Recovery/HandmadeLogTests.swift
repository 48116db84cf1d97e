import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Logs with frames that the engine does not write")
struct HandmadeLogTests {
  @Test("Opening, verification, compaction, readers and salvage skip marks between commits")
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
    // The log continues after the last mark, and compaction does not copy marks.
    try store.write { try $0.remove(id: 51, in: log.rows) }
    try store.compact()
    try check(store, ids.filter { $0 != 51 })
    try store.close()
    try check(try log.open(), ids.filter { $0 != 51 })
    options.isReadOnly = true
    try check(try Store(at: "/salvaged", options: options), ids)
  }

  /// A valid frame that does not continue the frame before it.
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
    "An inconsistent frame is a torn tail, unless a later frame proves that it was complete; then it is corruption",
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
    "Invalid records in a commit are corruption with an offset, and the files stay unchanged")
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

  @Test("Salvage uses a mark to decide whether the commit before the mark was finished")
  func marksInSalvage() throws {
    /// The restored rows of a log. The end frame of its last commit is damaged, and a mark may
    /// follow.
    func rows(isFinished: Bool, hasMark: Bool) throws -> [UInt64] {
      var log = try HandmadeLog()
      let before = log.sequence
      try log.append(.commitPart, [log.row(50)])
      let end = log.end
      try log.append(.commitEnd, part: 1, [log.row(51)])
      if hasMark { try log.append(.mark, sequence: isFinished ? before + 1 : before) }
      let path = HandmadeLog.path + "/" + StoreFileName.segment(end.segment).string
      let file = try log.fileSystem.open(path, .readWrite)
      // Overwrites the whole frame, including its record.
      try file.write([UInt8](repeating: 0xEE, count: FrameHeader.length + log.row(51).count), at: end.offset)
      var options = HandmadeLog.options(log.fileSystem)
      let report = try Store.salvage(from: HandmadeLog.path, to: "/salvaged", options: options)
      // An unfinished commit is a torn tail, not damage.
      #expect(report.damages.contains { $0.offset <= end.offset && $0.reason == .frames } == isFinished)
      options.isReadOnly = true
      let store = try Store(at: "/salvaged", options: options)
      var found: [UInt64] = []
      try store.snapshot().forEach(in: try store.keyspace("rows", .dense)) { (id: UInt64, _: RawSpan) in
        found.append(id)
        return true
      }
      return found
    }
    let known = Array(HandmadeLog.ids)
    #expect(try rows(isFinished: true, hasMark: true) == known + [50])
    #expect(try rows(isFinished: false, hasMark: true) == known)
    #expect(try rows(isFinished: false, hasMark: false) == known)
  }

  @Test("An incomplete commit is dropped, but it is corruption if the superblock promises the commit")
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

  @Test("A store with unknown features that are required for writing opens only for reading")
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
