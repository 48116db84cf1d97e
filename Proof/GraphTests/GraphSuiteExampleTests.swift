// The suite for objects from the page about PerdureTestSupport, as code that compiles and runs.
// This file contains each line of that suite in the same order. Change both files together.

import Perdure
import PerdureFileIO
import PerdureLog
import PerdureTestSupport
import Testing

@Entity
final class Note: ManagedObject {
  @Attribute(.unique) var number: Int = 0
}

func notebook(on fileSystem: any FileSystem) throws -> PersistentContainer {
  var description = PersistentStoreDescription(path: "/Notebook")
  description.configuresEngine = { options in
    options.fileSystem = fileSystem
    (options.checkpoints, options.compactsAutomatically) = (.manual, false)
  }
  let container = try PersistentContainer(name: "Notebook", classes: [Note.self], description: description)
  try container.loadPersistentStores()
  return container
}

private struct Lost: Error {}
private struct Surplus: Error {}

@Suite("The suite for objects in the documentation")
struct GraphSuiteExampleTests {
  func objectsReport(_ explorer: CrashExplorer) throws -> CrashReport {
    try explorer.explore { fileSystem, marker in
      let context = try notebook(on: fileSystem).newContext()
      for number in 1...4 {
        marker.begin(number)
        Note(context: context).number = number
        try context.save()
        marker.acknowledge(number)
      }
    } recover: { fileSystem, _ in
      try notebook(on: fileSystem)
    } verify: { container, cut in
      let numbers = try container.newContext().fetch(Note.fetchRequest()).map(\.number).sorted()
      guard numbers.starts(with: cut.acknowledged) else { throw Lost() }
      guard cut.begun.starts(with: numbers) else { throw Surplus() }
    }
  }

  @Test func objectsSurvivePowerCuts() throws {
    var explorer = CrashExplorer()
    explorer.imagesPerOperationMax = 8
    let report = try objectsReport(explorer)
    print(report.summary)
    try report.check()
  }

  @Test(arguments: CrashCanary.allCases) func objectsNoticeMistakes(_ canary: CrashCanary) throws {
    var explorer = CrashExplorer()
    explorer.imagesPerOperationMax = 8
    explorer.canary = canary
    let report = try objectsReport(explorer)
    #expect(report.violation != nil)
    let isOfTheCheck = report.violation.map { ["Lost()", "Surplus()"].contains($0.reason) } ?? false
    #expect(isOfTheCheck || canary == .ignoresSync, "\(report)")
  }

  @Test func objectsSurviveFailures() throws {
    var explorer = CrashExplorer()
    explorer.imagesPerOperationMax = 4
    var sweep = FailureSweep()
    sweep.part = 0.02
    let report = sweep.run { fileSystem in
      var saved: [Int] = []
      guard let context = try? notebook(on: fileSystem).newContext() else { return saved }
      for number in 1...4 {
        Note(context: context).number = number
        do { try context.save() } catch is PerdureError { break }
        saved.append(number)
      }
      return saved
    } verify: { saved, fileSystem in
      for disk in explorer.images(of: fileSystem.journal, after: fileSystem.operationCount) {
        let numbers = try notebook(on: disk.fileSystem()).newContext().fetch(Note.fetchRequest())
          .map(\.number).sorted()
        guard numbers.starts(with: saved) else { throw Lost() }
        guard (1...4).starts(with: numbers) else { throw Surplus() }
      }
    }
    print(report.summary)
    try report.check()
    #expect(report.struckCount > 0)
  }
}
