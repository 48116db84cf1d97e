import ChildProcesses
import Foundation
import PerdureTestSupport
import Testing

@testable import DebianIndexReading

@Suite("Finding indexes") struct IndexLocatorTests {
  @Test(
    "A label does not contain the host, even if the file name does",
    arguments: [
      ("mirror.example.org_debian_dists_trixie_main_binary-amd64_Packages.lz4", "trixie/main amd64"),
      (
        "mirror.example.org_debian_dists_trixie-updates_contrib_binary-arm64_Packages",
        "trixie-updates/contrib arm64"
      ),
      ("mirror.example.org_debian_dists_sid_updates_main_binary-all_Packages", "sid/updates/main all"),
      ("mirror.example.org_flat_._Packages", "Packages"), ("Packages.lz4", "Packages.lz4"),
      ("status", "status"),
    ])
  func labels(name: String, label: String) {
    #expect(IndexFile(path: "/var/lib/apt/lists/" + name).label == label)
  }

  @Test(
    "An apt listing yields each file once, with a unique label")
  func aptListing() {
    let listing = """
      /lists/a_Packages.lz4\ttrixie\ttesting\tmain\tamd64
      /lists/b_Packages\t\tstable\tcontrib\tall
      /lists/c_Packages\ttrixie\ttesting\t\t
      /lists/a_Packages.lz4\ttrixie\ttesting\tmain\tamd64
      nonsense
      /lists/d_Packages\ttrixie\ttesting\tmain\tamd64

      """
    let indexes = IndexLocator.indexes(inAptListing: listing)
    #expect(
      indexes.map(\.label) == [
        "trixie/main amd64", "stable/contrib all", "trixie", "trixie/main amd64 (2)",
      ])
    #expect(
      indexes.map(\.path)
        == ["a_Packages.lz4", "b_Packages", "c_Packages", "d_Packages"].map { "/lists/" + $0 })
  }

  @Test("A folder yields its sorted indexes, a file yields itself, and other paths throw")
  func givenPath() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("perdure-indexes-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    #expect(throws: ArchiveReadError.self) { try IndexLocator.indexes(at: folder.path) }
    for name in ["b_Packages", "a_Packages.lz4", "Release", "notes.txt"] {
      try Data("Package: a\n".utf8).write(to: folder.appendingPathComponent(name))
    }
    let found = try IndexLocator.indexes(at: folder.path)
    #expect(found.map { ($0.path as NSString).lastPathComponent } == ["a_Packages.lz4", "b_Packages"])
    #expect(found.map(\.byteCount) == [11, 11])
    #expect(try IndexLocator.indexes(at: found[1].path) == [found[1]])
    let missing = folder.appendingPathComponent("host.example.org_missing").path
    let error = #expect(throws: ArchiveReadError.self) { try IndexLocator.indexes(at: missing) }
    #expect(error?.code == .notFound)
    #expect(error.map { "\($0)".contains("example") } == false)
  }

  @Test("If there is no apt index, dpkg's status file is read; if this file is missing, an error is thrown")
  func fallback() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("perdure-fallback-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (status, index) = (
      folder.appendingPathComponent("status"), folder.appendingPathComponent("x_Packages")
    )
    let gone = "\(folder.path)/gone_Packages\ttrixie\ttesting\tmain\tamd64\n"
    let there = "\(index.path)\ttrixie\ttesting\tmain\tamd64\n"
    for listing in [nil, "", gone] as [String?] {
      let error = #expect(throws: ArchiveReadError.self) {
        try IndexLocator.indexes(aptListing: listing, statusPath: status.path)
      }
      #expect(error?.code == .notFound && error.map { "\($0)".contains("apt-get update") } == true)
    }
    for file in [status, index] { try Data("Package: a\n".utf8).write(to: file) }
    for listing in [nil, "", gone] as [String?] {
      let found = try IndexLocator.indexes(aptListing: listing, statusPath: status.path)
      #expect(found.map(\.label) == ["installed packages"] && found.map(\.path) == [status.path])
    }
    let found = try IndexLocator.indexes(aptListing: gone + there, statusPath: status.path)
    #expect(found.map(\.path) == [index.path])
  }

  @Test("A file that cannot be opened is reported by its label")
  func unopenable() {
    let file = IndexFile(path: "/nowhere/host.example.org_dists_sid_main_binary-amd64_Packages")
    do throws(ArchiveReadError) {
      _ = try StanzaReader(file: file)
      Issue.record("The missing file was opened.")
    } catch {
      #expect(error.code == .unreadable)
      #expect("\(error)".contains("sid/main amd64"))
      #expect(!"\(error)".contains("example"))
    }
  }
}

private let helper = "/usr/lib/apt/apt-helper"
private let hasIndependentCounter =
  FileManager.default.isExecutableFile(atPath: helper) && (try? IndexLocator.indexes())?.isEmpty == false

/// Compares counts with the counts of independent programs.
@Suite(
  "The archive of this machine", .enabled(if: hasIndependentCounter, "apt-helper or an index is missing"))
struct ArchiveCountTests {
  @Test("The reader finds as many stanzas in each index as an independent program")
  func stanzaCounts() throws {
    for file in try IndexLocator.indexes() {
      let expected = try Self.count(file)
      let problems = Collected<ArchiveProblem>()
      var reader = try StanzaReader(file: file) { problems.items.append($0) }
      var count = 0
      while let stanza = try reader.next() {
        if stanza.text("Package") == nil { Issue.record("\(stanza.place): no name") }
        count += 1
      }
      #expect(count == expected, "\(file.label)")
      #expect(problems.items.isEmpty)
      #expect(reader.storedBytesRead == file.byteCount)
    }
  }

  @Test("For each small index, the example prints the count of an independent program")
  func printedCounts() throws {
    for file in try IndexLocator.indexes() {
      let expected = try Self.count(file)
      guard expected <= 200 else { continue }
      let folder = try TemporaryDirectory()
      let run = try DemoRun(file.path, store: folder.file("store.perdure"))
      #expect(run.number("stanzas read") == expected, "\(file.label)")
    }
  }

  private static func count(_ file: IndexFile) throws -> Int {
    let command = "'\(helper)' cat-file \"$1\" | grep -c '^Package:'"
    let run = try ChildRun(URL(fileURLWithPath: "/bin/sh"), ["-c", command, "sh", file.path])
    return try #require(
      Int(run.output.trimmingCharacters(in: .whitespacesAndNewlines)), "\(run.output)\(run.errors)")
  }
}
