import PerdureModel
import Testing

@Suite("A model has configurations")
struct ModelConfigurationTests {
  private let shapes = [
    EntityDescription("Shape", isAbstract: true, properties: [.string("name")]),
    EntityDescription("Circle", superentity: "Shape", properties: [.double("radius")]),
    entity("Owner", .toMany("things", "Thing", inverse: "owner")),
    entity("Thing", .toOne("owner", "Owner", inverse: "things")),
  ]

  private func findings(_ configurations: [String: [String]]) -> [String] {
    do {
      return try ManagedObjectModel(shapes, configurations: configurations).warnings.map(finding)
    } catch {
      return error.problems.map(finding)
    }
  }

  @Test("A configuration is a subset of the entities, in the order of the model")
  func subsets() throws {
    let model = try ManagedObjectModel(
      shapes, configurations: ["Shapes": ["Circle", "Shape", "Circle"], "All": shapes.map(\.name)])
    #expect(model.configurations == ["All", "Shapes"])
    #expect(model.entities(forConfigurationName: "Shapes")?.map(\.name) == ["Shape", "Circle"])
    #expect(model.entities(forConfigurationName: nil) == shapes)
    #expect(model.entities(forConfigurationName: "None") == nil)
    #expect(model.warnings == [])
    let hash = try ManagedObjectModel(shapes).versionHash
    #expect(model.versionHash == hash)
  }

  @Test("Unknown entities, bad names and parts of a hierarchy are problems of the model")
  func problems() {
    #expect(findings(["A": ["Nobody"]]) == ["configuration Nobody"])
    #expect(findings(["": []]) == ["configuration "])
    #expect(findings(["A": ["Shape"]]) == ["configuration Circle"])
    #expect(findings(["A": ["Circle"]]) == ["configuration Circle"])
  }

  @Test("A relationship that leads out of a configuration is a warning")
  func crossing() {
    #expect(findings(["A": ["Owner"]]) == ["configurationSplitsRelationship Owner.things"])
  }
}
