import Foundation
import Testing

@testable import InstructionBenchmark

@Suite("Scenarios whose instructions are counted")
struct ScenarioTests {
  @Test("Each scenario has its own title")
  func titles() {
    let titles = Scenario.all.map(\.title)
    #expect(Set(titles).count == titles.count)
  }

  @Test("The committed table has exactly the rows of all scenarios, in their order")
  func committed() throws {
    let results = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../results/instructions.json")
    let rows = try CountTable(contentsOf: results.standardizedFileURL.path).rows
    #expect(rows.map(\.title) == Scenario.all.map(\.title))
  }

  @Test("Each operation finds the expected objects, even with unsaved changes")
  func operations() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let base = folder.appendingPathComponent("base")
    try BaseGraph.make(at: base.path)
    // Operations with many changes differ only in their costs.
    for scenario in Scenario.all where scenario.pending.count <= 100 {
      let store = folder.appendingPathComponent("graph")
      try FileManager.default.copyItem(at: base, to: store)
      #expect(throws: Never.self, "\(scenario.title)") {
        try scenario.run(storeAt: store.path, repetitions: 1)
      }
      try FileManager.default.removeItem(at: store)
    }
  }
}
