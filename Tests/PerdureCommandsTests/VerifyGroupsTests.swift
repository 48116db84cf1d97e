import ArgumentParser
import Perdure
import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Testing

@testable import PerdureCommands

@Suite("perdure verify: groups of findings and damaged stores")
struct VerifyGroupsTests {
  private let directory: TemporaryDirectory
  private var path: String { directory.file("store") }

  init() throws {
    directory = try TemporaryDirectory()
    var options = StoreOptions()
    options.segmentCapacityBytes = 16 << 10
    options.compactsAutomatically = false
    options.checkpoints = .manual
    let store = try Store(at: path, options: options)
    let rows = try store.keyspace("rows", .dense)
    for id in 1...200 as ClosedRange<UInt64> {
      try store.write { try $0.put([UInt8](repeating: 7, count: 300), id: id, in: rows) }
    }
    try store.close()
  }

  /// Changes a byte of a file.
  private func damage(_ name: String, at offset: UInt64) throws {
    let file = try POSIXFileSystem().open(path + "/" + name, .readWrite)
    let byte = try file.read(1, at: offset)
    try file.write([byte[0] ^ 0xFF], at: offset)
    try file.close()
  }

  private func segments() throws -> [String] {
    try POSIXFileSystem().contents(of: path).filter { $0.hasSuffix(".segment") }.sorted()
  }

  @Test("Findings are grouped by invariant, with their number and the first findings")
  func groups() {
    let found = (1...7).map { ShownFinding(invariant: "V2", place: "place \($0)", message: "bad") }
    let other = ShownFinding(invariant: "G1", place: "Boat/p2", message: "worse")
    let groups = FindingGroup.groups(Array(found.prefix(3)) + [other] + found.dropFirst(3))
    #expect(groups.map(\.title) == ["V2 (addresses): 7 findings", "G1 (rows): 1 finding"])
    #expect(groups[0].lines(limit: 2) == ["  at place 1: bad", "  at place 2: bad", "  and 5 more"])
    #expect(groups[0].lines(limit: 7).count == 7)
    #expect(groups[0].lines(limit: 0) == ["  and 7 more"])
    // The counts are greater than the number of listed findings.
    let counted = FindingGroup.groups([other], counts: ["G1": 20_000, "V5": 3])
    #expect(counted.map(\.count) == [20_000, 3])
    #expect(counted[0].lines(limit: 5) == ["  at Boat/p2: worse", "  and 19999 more"])
  }

  @Test("Every invariant of a verification has a title")
  func titles() {
    for invariant in VerificationReport.Finding.Invariant.allCases {
      #expect(Invariants.title(of: "V\(invariant.rawValue)") != nil)
    }
    #expect(Invariants.all.count == VerificationReport.Finding.Invariant.allCases.count + 7)
  }

  @Test("A damaged header of a segment does not hide the damage of other segments")
  func badHeader() throws {
    let names = try segments()
    try #require(names.count >= 4)
    try damage(names[1], at: 20)
    try damage(names[2], at: 5_000)
    #expect(throws: StoreError.self) { try Store(at: path, options: Self.readOnly) }
    let before = try filesOfStore(at: path)
    let outcome = try Outcome("verify", path)
    #expect(outcome.code == .findings)
    let text = outcome.lines.joined(separator: "\n")
    #expect(outcome.lines[0].hasPrefix("The store does not open: corruption"), "\(text)")
    #expect(outcome.lines[1] == "V1 (frames of the log): 2 findings", "\(text)")
    let header = "  at \(names[1]), bytes 0 to 128: the segment's header is damaged"
    #expect(outcome.lines[2] == header, "\(text)")
    #expect(outcome.lines[3].hasPrefix("  at \(names[2]), bytes "), "\(text)")
    #expect(outcome.lines.last?.contains("\(names.count) segments") == true, "\(text)")
    let json = try Outcome("verify", path, "--json")
    #expect(json.code == .findings && json.lines.count == 1)
    #expect(json.lines[0].contains(#""clean":false,"opens":false,"opening":"corruption"#))
    #expect(json.lines[0].contains(names[2]))
    #expect(try filesOfStore(at: path) == before)
  }

  @Test("A survey lists the same damage as a salvage, and no damage in an intact store")
  func survey() throws {
    #expect(try Store.survey(at: path).isClean)
    let names = try segments()
    try damage(names[0], at: 3_000)
    try damage(names[1], at: 20)
    try damage("SUPERBLOCK", at: 8)
    var done: (UInt64, UInt64) = (0, 0)
    let survey = try Store.survey(at: path) { done = ($0, $1) }
    let salvage = try Store.salvage(from: path, to: directory.file("saved"))
    #expect(survey.damages == salvage.damages && survey.damageCount >= 2)
    #expect(survey.records == salvage.records && survey.segments == salvage.segments)
    #expect(survey.contents.isEmpty)
    #expect(done.0 == done.1 && done.1 > 0)
  }

  @Test("verify of a path without a store fails instead of reporting findings")
  func noStore() throws {
    #expect(try Outcome("verify", directory.file("none")).code == .failed)
    #expect(throws: StoreError.self) { try Store.survey(at: directory.file("none")) }
    #expect(throws: (any Error).self) { try Outcome("verify", path, "--findings", "-1") }
  }

  private static var readOnly: StoreOptions {
    var options = StoreOptions()
    (options.isReadOnly, options.createsIfMissing) = (true, false)
    return options
  }
}
