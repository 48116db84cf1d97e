import PerdureFileIO
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("Copies of a closed store while a call fails")
struct CopyFailureTests {
  @Test("Whichever call of a copy fails once, the error is that call's, and the next copy succeeds")
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
}
