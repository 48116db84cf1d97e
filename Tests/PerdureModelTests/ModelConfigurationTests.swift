import PerdureModel
import Testing

@Suite("Configurations of models")
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

  @Test("Unknown entities, invalid names and incomplete hierarchies are model problems")
  func problems() {
    #expect(findings(["A": ["Nobody"]]) == ["configuration Nobody"])
    #expect(findings(["": []]) == ["configuration "])
    #expect(findings(["A": ["Shape"]]) == ["configuration Circle"])
    #expect(findings(["A": ["Circle"]]) == ["configuration Circle"])
  }

  @Test("A relationship to an entity outside of its configuration causes a warning")
  func crossing() {
    #expect(findings(["A": ["Owner"]]) == ["configurationSplitsRelationship Owner.things"])
  }
}
