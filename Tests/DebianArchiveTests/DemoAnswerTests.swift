import Foundation
import PerdureTestSupport
import Testing

/// Compares the example's output for a generated archive with simple counts.
@Suite("Answers of the archive example")
struct DemoAnswerTests {
  private struct MadePackage {
    let name: String
    /// Keeper n has n + 1 packages.
    let keeper: Int
    /// The clauses of the field `Depends`, each a list of alternatives.
    let needs: [[String]]
    let provides: [String]
    let isAboutDatabases: Bool

    func answers(to name: String) -> Bool { self.name == name || provides.contains(name) }
    var alternatives: [String] { needs.flatMap { $0 } }

    var stanza: String {
      var lines = [
        "Package: \(name)", "Version: 1", "Architecture: all", "Maintainer: Keeper \(keeper) <k@x.org>",
      ]
      if !needs.isEmpty {
        lines.append("Depends: " + needs.map { $0.joined(separator: " | ") }.joined(separator: ", "))
      }
      if !provides.isEmpty { lines.append("Provides: " + provides.joined(separator: ", ")) }
      lines.append("Description: \(isAboutDatabases ? "a DataBase" : "something") named \(name)")
      return lines.joined(separator: "\n") + "\n"
    }
  }

  private static func archive(_ random: inout SeededGenerator) -> [MadePackage] {
    let names = (0..<34).map { "package-\($0)" } + ["dpkg", "libc6"]
    let targets = names + ["libc6", "virtual-0", "virtual-1", "nobody-has-it"]
    let keepers = (0..<8).flatMap { [Int](repeating: $0, count: $0 + 1) }
    return zip(names, keepers).map { name, keeper in
      let clauses = name == "dpkg" ? 2 : Int.random(in: 0...2, using: &random)
      return MadePackage(
        name: name, keeper: keeper,
        needs: (0..<clauses).map { _ in
          (0..<Int.random(in: 1...2, using: &random)).map { _ in targets.randomElement(using: &random)! }
        },
        provides: random.chance(20) ? ["virtual-\(Int.random(in: 0...1, using: &random))"] : [],
        isAboutDatabases: random.chance(25))
    }
  }

  /// Whether the package of each row depends on the package of each column.
  private static func edges(_ packages: [MadePackage]) -> [[Bool]] {
    packages.map { package in
      packages.map { other in package.alternatives.contains { other.answers(to: $0) } }
    }
  }

  /// The sizes of groups of packages that depend on each other, computed from the reachable
  /// packages.
  private static func groups(_ packages: [MadePackage]) -> [Int] {
    var reach = edges(packages)
    for middle in packages.indices {
      for from in packages.indices where reach[from][middle] {
        for to in packages.indices where reach[middle][to] { reach[from][to] = true }
      }
    }
    var sizes: [Int] = []
    for one in packages.indices {
      let group = packages.indices.filter { $0 == one || (reach[one][$0] && reach[$0][one]) }
      if group.count > 1, group[0] == one { sizes.append(group.count) }
    }
    return sizes
  }

  private static func closure(of name: String, _ packages: [MadePackage]) -> Int {
    let edges = edges(packages)
    var reached = Set(packages.indices.filter { packages[$0].answers(to: name) })
    var count = -1
    while count != reached.count {
      count = reached.count
      for one in reached { reached.formUnion(packages.indices.filter { edges[one][$0] }) }
    }
    return count
  }

  @Test("The printed answers equal independent counts, for a new and for an existing store")
  func answers() throws {
    var random = SeededGenerator.forTest("demo answers")
    let packages = Self.archive(&random)
    let folder = try TemporaryDirectory()
    let path = folder.file("Packages")
    try packages.map(\.stanza).joined(separator: "\n").write(toFile: path, atomically: true, encoding: .utf8)
    let groups = Self.groups(packages)
    let busiest = packages.filter { $0.keeper == 7 }
    for time in 1...2 {
      let run = try DemoRun(path, store: folder.file("store.perdure"))
      #expect(run.exitCode == 0 && run.errors.isEmpty, "\(run.errors)")
      func expect(_ line: String, _ number: Int) {
        #expect(run.output.contains("\(line)\(number)\n"), "run \(time): \(line)\(number)\n\(run.output)")
      }
      #expect(run.number("packages") == packages.count)
      expect("Packages that need libc6: ", packages.count { $0.alternatives.contains("libc6") })
      expect("Packages that dpkg may require, itself included: ", Self.closure(of: "dpkg", packages))
      for keeper in 3...7 { #expect(run.number("Keeper \(keeper)") == keeper + 1) }
      #expect(run.number("Keeper 2") == nil)
      expect("Groups of packages that need each other: ", groups.count)
      if let largest = groups.max() {
        #expect(run.output.contains(" \(largest) packages: "), "\(run.output)")
      }
      expect("Packages about \"database\": ", packages.count(where: \.isAboutDatabases))
      #expect(run.output.contains("\nDeleting Keeper 7 would delete\n"))
      #expect(run.number("Maintainer") == 1)
      #expect(run.number("Package") == busiest.count)
      let along = busiest.reduce(0) { $0 + $1.alternatives.count + $1.provides.count }
      #expect(run.number("Dependency") ?? 0 == along)
    }
  }
}
