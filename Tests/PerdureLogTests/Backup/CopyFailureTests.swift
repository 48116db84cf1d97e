import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Copies of a closed store while a call fails")
struct CopyFailureTests {
  @Test("If any one call of a copy fails, the copy throws that call's error, and the next copy succeeds")
  func everyCall() throws {
    let disk = SimulatedFileSystem()
    let options = BackedUpStore.options(disk, segmentCapacityBytes: 4096)
    let subject = try BackedUpStore(options)
    for number in 1...60 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.close()
    #expect(try disk.contents(of: "/store").count { $0.hasSuffix(".segment") } > 2)
    var nth = 1
    while true {
      let before = disk.injectedFailureCount
      disk.inject(InjectedFailure(of: nil, nth: nth, code: .mediaError))
      var isMade = true
      do { try Store.copy(at: "/store", to: "/copy", options: options) } catch let error as StoreError {
        #expect(error.code == .io && error.cause?.code == .mediaError, "call \(nth): \(error)")
        isMade = false
      }
      disk.removeInjectedFailures()
      #expect(try disk.kind(of: "/copy.copy") == nil, "call \(nth)")
      if !isMade {
        try Store.destroy(at: "/copy", options: options)
        try Store.copy(at: "/store", to: "/copy", options: options)
      }
      try subject.check("/copy", options)
      try Store.destroy(at: "/copy", options: options)
      if disk.injectedFailureCount == before { break }
      nth += 1
    }
    #expect(nth > 40)
  }

  /// Makes a copy of "/store" at "/copy".
  enum Maker: String, CaseIterable {
    case copy, backup, restore

    func run(_ options: StoreOptions) throws {
      switch self {
      case .copy: try Store.copy(at: "/store", to: "/copy", options: options)
      case .restore: try Store.restore(from: "/store", to: "/copy", options: options)
      case .backup:
        var readOptions = options
        readOptions.isReadOnly = true
        let store = try Store(at: "/store", options: readOptions)
        defer { try? store.close() }
        try store.backup(to: "/copy", options: BackedUpStore.unpaced)
      }
    }
  }

  @Test(
    "If a call fails, alone or with all later calls, the draft is removed, or the error says that it stays",
    arguments: Maker.allCases, [false, true])
  func drafts(_ maker: Maker, repeats: Bool) throws {
    let disk = SimulatedFileSystem()
    let subject = try BackedUpStore(BackedUpStore.options(disk, segmentCapacityBytes: 4096))
    for number in 1...20 as ClosedRange<UInt64> { try subject.commit(number) }
    try subject.store.close()
    let image = disk.currentImage
    var nth = 1
    var kept = 0
    while true {
      let disk = image.fileSystem()
      disk.inject(
        InjectedFailure(of: nil, nth: nth, repeats: repeats, code: .noSpace, pathContains: "/copy"))
      var failure: StoreError?
      do { try maker.run(BackedUpStore.options(disk)) } catch let error as StoreError { failure = error }
      let isStruck = disk.injectedFailureCount > 0
      disk.removeInjectedFailures()
      if try disk.kind(of: "/copy.copy") != nil {
        kept += 1
        let text = try #require(failure).description
        #expect(repeats && text.contains("the unfinished copy stays in /copy.copy"), "call \(nth): \(text)")
        try maker.run(BackedUpStore.options(disk))
      }
      if !isStruck { break }
      nth += 1
    }
    #expect(nth > 20 && (kept > 0) == repeats, "\(nth) calls, \(kept) drafts kept")
  }
}
