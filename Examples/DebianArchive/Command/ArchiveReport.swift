import DebianArchiveGraph
import DebianIndexReading
import Foundation
import Perdure
import PerdureText

/// Prints the results of the queries on standard output.
struct ArchiveReport {
  var container: PersistentContainer
  var survey: ArchiveSurvey
  var package: String?
  var word: String
  var storePath: String
  var stopwatch: Stopwatch

  func printAll() throws {
    let context = container.newContext()
    let questions = ArchiveQuestions(context)
    printIndexes()
    try printCounts(context)
    try printReverseDependencies(questions)
    try printClosure(questions)
    try printMaintainers(questions)
    try printCycles(questions)
    try printSearch(questions)
    try printCascade(questions, context)
    printTimes()
  }

  private func printIndexes() {
    print("\nIndexes")
    for index in survey.indexes { row(index.file.label, "\(index.stanzaCount) stanzas") }
    row("stanzas read", "\(survey.stanzaCount)")
  }

  private func printCounts(_ context: ManagedObjectContext) throws {
    print("\nObjects")
    for (name, type) in [
      ("packages", Package.self), ("package names", PackageName.self), ("virtual names", VirtualName.self),
      ("dependencies", Dependency.self), ("maintainers", Maintainer.self), ("sections", Section.self),
      ("tags", Tag.self),
    ] as [(String, ManagedObject.Type)] {
      row(
        name,
        "\(try context.count(for: FetchRequest<ManagedObject>(entityName: type.entityDescription.name)))")
    }
    stopwatch.lap("count")
  }

  private func printReverseDependencies(_ questions: ArchiveQuestions) throws {
    let found = try questions.reverseDependencies(of: "libc6")
    print("\nPackages that need libc6: \(found.count)")
    stopwatch.lap("reverse dependencies of libc6")
  }

  private func printClosure(_ questions: ArchiveQuestions) throws {
    let candidates = package.map { [$0] } ?? ["gnome", "build-essential", "python3", "dpkg"]
    for name in candidates {
      let found = try questions.closure(of: name)
      guard !found.isEmpty || name == candidates.last else { continue }
      print("\nPackages that \(name) may require, itself included: \(found.count)")
      stopwatch.lap("closure of \(name)")
      return
    }
  }

  private func printMaintainers(_ questions: ArchiveQuestions) throws {
    print("\nMaintainers with the most packages")
    for maintainer in try questions.busiestMaintainers(5) {
      row(maintainer.name, "\(maintainer.packageCount)")
    }
    stopwatch.lap("busiest maintainers, by index")
  }

  private func printCycles(_ questions: ArchiveQuestions) throws {
    let cycles = try questions.dependencyCycles()
    print("\nGroups of packages that need each other: \(cycles.count)")
    if let largest = cycles.first {
      let names = largest.map(\.name).sorted().prefix(4).joined(separator: ", ")
      row("the largest", "\(largest.count) packages: \(names)\(largest.count > 4 ? ", …" : "")")
    }
    stopwatch.lap("dependency cycles")
  }

  private func printSearch(_ questions: ArchiveQuestions) throws {
    let found = try questions.packages(about: word)
    print("\nPackages about \"\(word)\": \(found.count)")
    for package in found.prefix(3) { row(package.name, package.summary ?? "") }
    stopwatch.lap("search in summaries")
  }

  /// Deletes a maintainer to count the deleted objects, and rolls the context back.
  private func printCascade(_ questions: ArchiveQuestions, _ context: ManagedObjectContext) throws {
    guard let maintainer = try questions.busiestMaintainers(1).first else { return }
    print("\nDeleting \(maintainer.name) would delete")
    context.delete(maintainer)
    context.processPendingChanges()
    let counts = Dictionary(grouping: context.deletedObjects) { $0.entity.name }.mapValues(\.count)
    for (entity, count) in counts.sorted(by: { $0.key < $1.key }) { row(entity, "\(count)") }
    context.rollback()
    stopwatch.lap("plan of a cascade")
  }

  private func printTimes() {
    print("\nTimes, in seconds")
    for lap in stopwatch.laps { row(lap.name, String(format: "%.3f", lap.seconds)) }
    print("\nThe store takes \(byteCount / 1_048_576) MiB on the disk.")
  }

  private var byteCount: Int {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: storePath)) ?? []
    return names.reduce(0) { sum, name in
      let attributes = try? FileManager.default.attributesOfItem(atPath: storePath + "/" + name)
      return sum + ((attributes?[.size] as? Int) ?? 0)
    }
  }

  private func row(_ name: String, _ value: String) {
    let table = TextTable(widths: [38], alignments: [.leading, .leading])
    print("  " + table.line([TextTable.cell(name, limit: 38), value]))
  }
}
