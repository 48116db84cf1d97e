import PerdureFileIO
import PerdureFormat
import PerdureTestSupport
import Testing

@testable import PerdureLog

@Suite("The table of readers")
struct ReaderTableTests {
  private let directory: TemporaryDirectory
  private let tables: [ReaderTable]

  init() throws {
    directory = try TemporaryDirectory()
    let memory = InMemoryFileSystem()
    try memory.createDirectory("/s")
    tables = [
      ReaderTable(directory: try memory.openDirectory("/s")),
      ReaderTable(directory: try POSIXFileSystem().openDirectory(directory.path)),
    ]
  }

  @Test(
    "A reader counts as needing everything until it writes its needs, and needs nothing after its release")
  func life() throws {
    for table in tables {
      #expect(table.needs() == ReaderNeeds())
      var first = ReaderRegistration.take(in: table)
      #expect(table.needs() == ReaderNeeds(everything: true))
      #expect(table.needs().oldestSequence == 0)
      #expect(table.needs().mayReach(1..<2, inIndexFile: 1) && table.needs().mayRead(1..<2))
      let hold = ReaderSlot.Hold(sequence: 7, indexFile: 2, checkpoint: 3)
      try first?.narrow(to: hold)
      #expect(table.needs() == ReaderNeeds(holds: [hold]))
      var second = ReaderRegistration.take(in: table)
      #expect(table.needs() == ReaderNeeds(everything: true, holds: [hold]))
      try second?.narrow(to: ReaderSlot.Hold(sequence: 9, indexFile: 2, checkpoint: 5))
      #expect(table.needs().mayReach(2..<4, inIndexFile: 2) && table.needs().mayReach(5..<6, inIndexFile: 2))
      #expect(
        !table.needs().mayReach(4..<5, inIndexFile: 2) && !table.needs().mayReach(0..<3, inIndexFile: 2))
      #expect(!table.needs().mayReach(0..<9, inIndexFile: 3))
      #expect(table.needs().oldestSequence == 7)
      first = nil
      #expect(table.needs().oldestSequence == 9 && !table.needs().mayReach(2..<4, inIndexFile: 2))
      // The reader may also read later states, until its slot limits its needs.
      #expect(
        table.needs().mayRead(3..<10) && table.needs().mayRead(20..<21) && !table.needs().mayRead(3..<9))
      try second?.narrow(to: ReaderSlot.Hold(sequence: 9, indexFile: 2, checkpoint: 5, lastSequence: 12))
      #expect(table.needs().mayRead(3..<10) && table.needs().mayRead(12..<13))
      #expect(!table.needs().mayRead(13..<21) && !table.needs().mayRead(3..<9))
      second = nil
      #expect(table.needs() == ReaderNeeds())
      withExtendedLifetime((first, second)) {}
    }
  }

  @Test(
    "Times of lock holders print as a date and a time in UTC",
    arguments: [
      (0 as UInt64, "1970-01-01 00:00:00 UTC"), (951_782_399, "2000-02-28 23:59:59 UTC"),
      (951_782_400, "2000-02-29 00:00:00 UTC"), (1_735_689_599, "2024-12-31 23:59:59 UTC"),
      (4_107_542_400, "2100-03-01 00:00:00 UTC"),
    ])
  func moments(_ seconds: UInt64, _ text: String) { #expect(LockHolderText.utc(seconds) == text) }

  @Test("Slots are reused, and a damaged slot counts as a reader that needs everything")
  func slots() throws {
    for table in tables {
      for _ in 0..<3 {
        let registrations = (0..<5).map { _ in ReaderRegistration.take(in: table) }
        #expect(try table.entries().count == 5)
        withExtendedLifetime(registrations) {}
      }
      let file = try table.directory.open("READERS", .readWrite)
      #expect(try file.size() == 5 * 64)
      #expect(table.needs() == ReaderNeeds())
      let reader = try #require(ReaderRegistration.take(in: table))
      try reader.narrow(to: ReaderSlot.Hold(sequence: 7, indexFile: 2, checkpoint: 3))
      try file.write([0xFF], at: 24)
      #expect(table.needs() == ReaderNeeds(everything: true))
      withExtendedLifetime(reader) {}
    }
  }

  @Test(
    "An unreadable table counts as a reader that needs everything; an unlockable table counts as no readers")
  func failures() throws {
    let fileSystem = SimulatedFileSystem()
    try fileSystem.createDirectory("/s")
    let table = ReaderTable(directory: try fileSystem.openDirectory("/s"))
    var reader = ReaderRegistration.take(in: table)
    for operation in [FileOperation.kind, .open, .size, .lock, .read] {
      fileSystem.inject(InjectedFailure(of: operation, code: .mediaError))
      if operation == .kind { try reader?.narrow(to: .init(sequence: 1, indexFile: 0, checkpoint: 0)) }
      #expect(table.needs() == ReaderNeeds(everything: true), "\(operation)")
      #expect(!table.needs().everything)
    }
    reader = nil
    fileSystem.inject(InjectedFailure(of: .lock, code: .notSupported))
    #expect(table.needs() == ReaderNeeds())
    for operation in [FileOperation.open, .lock, .write] {
      fileSystem.removeInjectedFailures()
      fileSystem.inject(InjectedFailure(of: operation, code: .readOnly))
      #expect(ReaderRegistration.take(in: table) == nil, "\(operation)")
    }
    withExtendedLifetime(reader) {}
  }
}
