import ChildProcesses
import Foundation
import PerdureTestSupport
import Testing

/// Runs the example as `make demo` does, as a separate process, and reads its output.
@Suite("The archive example as a command")
struct DemoTests {
  private let folder: TemporaryDirectory

  init() throws { folder = try TemporaryDirectory() }

  private func run(_ archive: String) throws -> DemoRun {
    try DemoRun(archive, store: "\(folder.path)/store.perdure")
  }

  private func write(_ text: String, _ name: String) throws -> String {
    let path = "\(folder.path)/\(name)"
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    return path
  }

  @Test("The printed counts of a generated archive equal counts of its lines")
  func madeArchive() throws {
    let text = (0..<300).map { number in
      let version = number % 50 == 7 ? "1" : "1.\(number % 3)"
      return """
        Package: package-\(number % 200)
        Version: \(version)
        Architecture: \(number % 5 == 0 ? "all" : "amd64")
        Maintainer: Keeper \(number % 13) <keeper\(number % 13)@example.org>
        Section: section-\(number % 4)
        Depends: package-\(number * 7 % 200), virtual-\(number % 9) | package-\(number % 30) (>= 1),
         libc6
        Provides: virtual-\(number % 3) (= \(version))

        """
    }.joined(separator: "\n")
    try check(try write(text, "Packages"), isWellFormed: true)
  }

  @Test("Counts of installed packages equal counts of the status file", .enabled(if: DemoTests.hasInstalled))
  func installed() throws {
    try check(Self.installed, isWellFormed: false)
  }

  private static let installed = "/var/lib/dpkg/status"
  private static var hasInstalled: Bool { FileManager.default.isReadableFile(atPath: installed) }

  private func check(_ path: String, isWellFormed: Bool) throws {
    let count = LineCount(try String(contentsOfFile: path, encoding: .utf8))
    for time in 1...2 {
      let run = try run(path)
      if isWellFormed { #expect(run.exitCode == 0, "\(run.errors)") }
      #expect(run.number("stanzas read") == count.stanzas, "run \(time)")
      #expect(run.number("packages") == count.packages.count, "run \(time)")
      #expect(run.number("package names") == count.names.count, "run \(time)")
      #expect(run.number("sections") == count.sections.count, "run \(time)")
      // Unreadable clauses are reported and skipped. Then the counts below may be smaller, so they
      // are not compared.
      guard run.errors.isEmpty else { continue }
      #expect(run.number("dependencies") == count.dependencies, "run \(time)")
      #expect(run.number("virtual names") == count.targets.subtracting(count.names).count, "run \(time)")
    }
  }

  @Test("A second run changes no files, and each run prints times and the store's size")
  func secondRun() throws {
    let stanzas = (0..<20).map { "Package: package-\($0)\nVersion: 1\nDepends: package-\($0 / 2)\n\n" }
    let archive = try write(stanzas.joined(), "Packages")
    for isFirst in [true, false] {
      let run = try ChildRun(
        built: "DebianArchive", [archive, "--store", "\(folder.path)/store.perdure"],
        environment: ["PERDURE_DEMO_KILL_AT": "0"])
      #expect(run.status == 0, "\(run.errors)")
      func changes(_ what: String) throws -> Int {
        let line = run.output.split(separator: "\n").first { $0.hasPrefix(what + " ") }
        return try #require(line.flatMap { Int($0.dropFirst(what.count + 1)) }, "\(run.output)")
      }
      // The number of changes of files between opening and the end of the import.
      let changes = try changes("imported") - changes("opened")
      #expect(isFirst ? changes > 0 : changes == 0, "\(changes)")
      let times = try #require(run.output.split(separator: "Times, in seconds\n").last)
      for step in ["find and scan the indexes", "open the store", "import", "close", "open again", "count"] {
        #expect(times.contains("  \(step)  "), "\(run.output)")
      }
      #expect(times.contains("The store takes ") && times.contains(" MiB on the disk."))
    }
  }

  @Test("A damaged index is reported by line, and the repaired index adds the missing package")
  func badInput() throws {
    let good = try run(try write("Package: a\nVersion: 1\n\nPackage: b\nDepends: a\n\n", "good"))
    #expect(good.exitCode == 0 && good.errors.isEmpty && good.number("packages") == 2)

    let whole = "Package: c\n\nVersion: 3\n\nPackage: d\nDepends: c\n\nPackage: e\nVersion: 5\n"
    let bad = try run(try write(String(whole.dropLast(4)), "bad"))
    #expect(bad.exitCode == 1)
    #expect(bad.errors.contains("bad, line 3 (byte 12): A stanza without a package name was left out."))
    #expect(bad.errors.contains("bad, line 9"), "\(bad.errors)")
    #expect(bad.errors.contains("The index ends in the middle of a line; fetch it again."))
    #expect(bad.number("stanzas read") == 3)
    #expect(bad.number("packages") == 4)

    let mended = try run(try write(whole, "bad"))
    #expect(mended.number("packages") == 5)
    let again = try run("\(folder.path)/good")
    #expect(again.exitCode == 0 && again.number("packages") == 5)
  }
}

/// The output and the exit code of one run of the example.
struct DemoRun {
  let output: String
  let errors: String
  let exitCode: Int32

  init(_ archive: String, store: String) throws {
    let run = try ChildRun(built: "DebianArchive", [archive, "--store", store])
    output = run.output
    // Standard error also contains lines of progress, which the filter removes.
    errors = run.errors.split(separator: "\n").filter { $0.contains(": ") && $0.contains(", line ") }
      .joined(separator: "\n")
    exitCode = run.status
  }

  /// The number in the row that begins with `name`; nil if there is no such row.
  func number(_ name: String) -> Int? {
    for line in output.split(separator: "\n") where line.hasPrefix("  \(name)  ") {
      return line.split(separator: " ").last.flatMap { Int($0) }
    }
    return nil
  }
}

/// Counts an index line by line, without code of the example.
private struct LineCount {
  private(set) var stanzas = 0
  private(set) var packages: Set<[String]> = []
  private(set) var names: Set<String> = []
  private(set) var sections: Set<String> = []
  private(set) var dependencies = 0
  private(set) var targets: Set<String> = []

  private static let relations = [
    "Pre-Depends", "Depends", "Recommends", "Suggests", "Enhances", "Breaks", "Conflicts", "Replaces",
    "Provides",
  ]

  init(_ text: String) {
    var fields: [String: String] = [:]
    var last = ""
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.allSatisfy(\.isWhitespace) {
        add(fields)
        fields = [:]
      } else if line.first == " " || line.first == "\t" {
        fields[last, default: ""] += line
      } else if let colon = line.firstIndex(of: ":") {
        last = String(line[..<colon])
        fields[last] = String(line[line.index(after: colon)...])
      }
    }
    add(fields)
  }

  private mutating func add(_ fields: [String: String]) {
    func value(_ name: String) -> String { (fields[name] ?? "").trimmingCharacters(in: .whitespaces) }
    if fields.isEmpty { return }
    stanzas += 1
    guard packages.insert(["Package", "Version", "Architecture"].map(value)).inserted else { return }
    names.insert(value("Package"))
    if fields["Section"] != nil { sections.insert(value("Section")) }
    for relation in Self.relations {
      for clause in value(relation).split(separator: ",") {
        let alternatives = clause.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        for alternative in alternatives where !alternative.isEmpty {
          dependencies += 1
          targets.insert(String(alternative.prefix { !" (:".contains($0) }))
        }
      }
    }
  }
}
