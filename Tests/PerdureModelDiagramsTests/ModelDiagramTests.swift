import PerdureModel
import Testing

@testable import PerdureModelDiagrams

@Suite("Selection of the part of a model that a diagram shows")
struct ModelDiagramTests {
  private func names(_ options: DiagramOptions) throws -> [String] {
    ModelDiagram(of: try SmallModel.model(), options).boxes.map(\.name)
  }

  @Test("A diagram has a box for each entity, by name, and a row for each property")
  func boxes() throws {
    let diagram = ModelDiagram(of: try SmallModel.model())
    #expect(diagram.boxes.map(\.name) == ["Address", "Company", "Person", "Worker"])
    #expect(
      diagram.boxes[1].rows.map { "\($0.name): \($0.detail)" } == [
        "name: string", "workerCount: int64 derived", "address: Address? cascade", "director: Worker?",
        "workers: [Worker] ordered cascade",
      ])
    #expect(diagram.boxes[1].rows.map(\.isUnstored) == [false, true, false, false, false])
    #expect(diagram.boxes[3].rows.filter(\.isKey).map(\.name) == ["email"])
    #expect(diagram.boxes[2].isAbstract && !diagram.boxes[3].isAbstract)
    #expect(diagram.summary == "4 entities, 7 relationships, 1 inheritance")
  }

  @Test("A relationship and its inverse are one line; the ends of the line show the counts")
  func lines() throws {
    let diagram = ModelDiagram(of: try SmallModel.model())
    let lines = diagram.edges.map { edge in
      "\(edge.from.head.rawValue) \(diagram.sentence(about: edge)) \(edge.to.head.rawValue)"
    }
    #expect(
      lines == [
        "0 Company.address: Address? cascade 1", "0 Company.director: Worker? 1",
        "1 Company.workers: [Worker] ordered cascade; Worker.company: Company 2",
        "2 Person.friends: [Person] transient, its own inverse 2", "0 Worker inherits from Person 0",
        "2 Worker.boss: Worker?; Worker.team: [Worker] 0…9 deny 1",
      ])
    #expect(diagram.edges[0].kind == .relationship(isTransient: false, cascades: .to))
    #expect(diagram.edges[3].kind == .relationship(isTransient: true, cascades: .neither))
  }

  @Test("Two relationships between the same entities are two lines at different rows")
  func severalLines() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "Flight",
        properties: [
          .toOne("from", "Town", inverse: "departures"), .toOne("to", "Town", inverse: "arrivals"),
        ]),
      EntityDescription(
        "Town",
        properties: [
          .toMany("arrivals", "Flight", inverse: "to"), .toMany("departures", "Flight", inverse: "from"),
        ]),
    ])
    let diagram = ModelDiagram(of: model)
    #expect(diagram.edges.count == 2)
    #expect(diagram.edges.map(\.from.port.row) == [0, 1] && diagram.edges.map(\.to.port.row) == [1, 0])
    let ends = DiagramLayout(diagram).paths.flatMap { [$0.first, $0.last] }
    #expect(Set(ends).count == 4)
  }

  @Test("Named entities and a depth select all entities within that number of lines")
  func depth() throws {
    #expect(try names(DiagramOptions(entities: ["Address"], depth: 0)) == ["Address"])
    #expect(try names(DiagramOptions(entities: ["Address"], depth: 1)) == ["Address", "Company"])
    #expect(try names(DiagramOptions(entities: ["Address"], depth: 2)) == ["Address", "Company", "Worker"])
    #expect(try names(DiagramOptions(entities: ["Address"])) == ["Address", "Company", "Person", "Worker"])
    #expect(try names(DiagramOptions(entities: ["Person"], depth: 1)) == ["Person", "Worker"])
    #expect(try names(DiagramOptions(entities: ["Nothing"])) == [])
  }

  @Test("If a superentity or a destination has no box, its name is shown in the box or in the row")
  func hidden() throws {
    let diagram = ModelDiagram(of: try SmallModel.model(), DiagramOptions(entities: ["Worker"], depth: 0))
    #expect(diagram.boxes.map(\.hiddenSuperentity) == ["Person"])
    #expect(diagram.edges.count == 1)
    #expect(diagram.boxes[0].rows.contains { $0.name == "company" && $0.detail == "Company" })
    let text = SVGWriter.text(DiagramLayout(diagram), title: "Worker")
    #expect(text.contains(">inherits from Person</text>"))
  }

  @Test(
    "A box has rows for all relationships; an option adds rows for all attributes, only for keys, or none")
  func attributes() throws {
    let model = try SmallModel.model()
    func rows(_ attributes: DiagramOptions.Attributes) -> [String] {
      ModelDiagram(of: model, DiagramOptions(attributes: attributes)).boxes[3].rows.map(\.name)
    }
    #expect(rows(.all) == ["email", "salary", "home.street", "boss", "company", "team"])
    #expect(rows(.keys) == ["email", "boss", "company", "team"])
    #expect(rows(.none) == ["boss", "company", "team"])
  }
}
