import PerdureModel
import PerdureTestSupport
import Testing

@testable import PerdureModelDiagrams

@Suite("Layout of diagrams")
struct DiagramLayoutTests {
  /// Calls `body` with layouts of random models of different sizes.
  private func forRandomLayouts(
    _ title: String, _ body: (DiagramLayout, ManagedObjectModel, DiagramOptions) throws -> Void
  ) throws {
    var models = RandomModels(generator: SeededGenerator.forTest(title))
    for round in 0..<12 {
      let count = 1 + round * 4
      let entities = models.entities(count, relationshipCount: [0, count / 2, count, 2 * count][round % 4])
      let model = try ManagedObjectModel(entities)
      for attributes in DiagramOptions.Attributes.allCases {
        let options = DiagramOptions(attributes: attributes)
        try body(DiagramLayout(ModelDiagram(of: model, options)), model, options)
      }
    }
  }

  @Test("Boxes do not overlap, and boxes and lines are inside the picture")
  func boxes() throws {
    try forRandomLayouts("boxes of diagrams") { layout, _, _ in expectSeparateBoxes(layout) }
  }

  @Test("The texts of a box fit into it, and do not overlap")
  func texts() throws {
    try forRandomLayouts("texts of diagrams") { layout, _, _ in
      for (box, (shape, frame)) in zip(layout.diagram.boxes, zip(layout.shapes, layout.frames)) {
        #expect(frame.width >= shape.width && frame.height == shape.height)
        expectAll(zip(box.rows, shape.rowMiddles)) { row, middle in
          let width = TextMetrics.width(of: row.name + row.detail, size: BoxShape.fontSize)
          return width + BoxShape.columnGap / 2 + 2 * BoxShape.padding <= frame.width
            && middle - BoxShape.rowHeight / 2 >= shape.headHeight
            && middle + BoxShape.rowHeight / 2 <= shape.height
        }
        expectAll(zip(shape.rowMiddles, shape.rowMiddles.dropFirst())) { $1 - $0 >= BoxShape.rowHeight }
      }
    }
  }

  @Test("A line leads from a side of its box to a side of the other box, at the right rows")
  func ends() throws {
    try forRandomLayouts("ends of lines") { layout, _, _ in
      let lines = zip(layout.diagram.edges, layout.paths).flatMap { edge, path in
        [(edge, edge.from.port, path.first), (edge, edge.to.port, path.last)]
      }
      expectAll(lines) { edge, port, point in
        guard let point else { return false }
        let frame = layout.frames[port.box]
        let distance = abs(point.y - frame.y - layout.shapes[port.box].portY(port, of: edge))
        // Both ends of a relationship that is its own inverse are at one row.
        return [frame.x, frame.right].contains(point.x)
          && distance == (edge.from.port == edge.to.port ? 4 : 0)
      }
    }
  }

  @Test("Lines are horizontal or vertical, leave space for arrow heads, and do not cross boxes")
  func lines() throws {
    try forRandomLayouts("ways of lines") { layout, _, _ in expectClearLines(layout) }
  }

  @Test("The order of declaration has no effect on the picture, and each run writes the same bytes")
  func sameBytes() throws {
    var random = SeededGenerator.forTest("order of declaration")
    try forRandomLayouts("bytes of diagrams") { layout, model, options in
      let text = SVGWriter.text(layout, title: "Model")
      let shuffled = try ManagedObjectModel(model.entities.shuffled(using: &random))
      let again = DiagramLayout(ModelDiagram(of: shuffled, options))
      #expect(text == SVGWriter.text(again, title: "Model"))
      #expect(again.stepCount == layout.stepCount)
    }
  }

  @Test("The picture of 200 entities has no overlaps, and its steps are bounded, even with one hub")
  func steps() throws {
    var models = RandomModels(generator: SeededGenerator.forTest("steps of a layout"))
    let model = try ManagedObjectModel(models.entities(200, relationshipCount: 300))
    let random = DiagramLayout(ModelDiagram(of: model))
    #expect(random.frames.count == 200 && random.stepCount > 10_000)
    #expect(random.stepCount < 3_000_000, "\(random.stepCount) steps")
    let hub = EntityDescription(
      "Hub", properties: (0..<199).map { .toMany("many\($0)", "Part\($0)", inverse: "hub") })
    let parts = (0..<199).map { number in
      EntityDescription("Part\(number)", properties: [.toOne("hub", "Hub", inverse: "many\(number)")])
    }
    expectSeparateBoxes(random)
    expectClearLines(random)
    let star = DiagramLayout(ModelDiagram(of: try ManagedObjectModel([hub] + parts)))
    #expect(star.frames.count == 200)
    #expect(star.stepCount < 3_000_000, "\(star.stepCount) steps")
    expectSeparateBoxes(star)
    expectClearLines(star)
  }

  @Test("An empty diagram has an empty picture")
  func empty() {
    let layout = DiagramLayout(ModelDiagram(boxes: [], edges: []))
    #expect(layout.width == 2 * DiagramLayout.margin && layout.height == 2 * DiagramLayout.margin)
    #expect(SVGWriter.text(layout, title: "Empty").hasSuffix("</svg>\n"))
  }

  @Test("No ascending values in a small range are nearer to the targets than the computed ones")
  func nearestValues() {
    var random = SeededGenerator.forTest("nearest ascending values")
    for _ in 0..<200 {
      let targets = (0..<4).map { _ in
        let weight = Int.random(in: 1...3, using: &random)
        return Monotone.Target(sum: 6 * weight * Int.random(in: -2...2, using: &random), weight: weight)
      }
      let found = Monotone.nearest(to: targets)
      #expect(zip(found, found.dropFirst()).allSatisfy { $0 <= $1 })
      func cost(_ values: [Int]) -> Int {
        zip(values, targets).reduce(0) {
          $0 + $1.1.weight * ($1.0 - $1.1.sum / $1.1.weight) * ($1.0 - $1.1.sum / $1.1.weight)
        }
      }
      // Rounding adds less than one to each distance.
      let roundingMax = targets.reduce(0) { $0 + $1.weight }
      for step in 0..<625 {
        let values = [step / 125, step / 25 % 5, step / 5 % 5, step % 5].map { 6 * ($0 - 2) }
        guard zip(values, values.dropFirst()).allSatisfy({ $0 <= $1 }) else { continue }
        #expect(cost(found) <= cost(values) + roundingMax)
      }
    }
  }

  @Test("The count of inversions equals the count from a comparison of all pairs")
  func inversions() {
    var random = SeededGenerator.forTest("inversions")
    for count in 0..<60 {
      let numbers = (0..<count).map { _ in Int.random(in: 0...20, using: &random) }
      let wanted = numbers.indices.reduce(0) { sum, position in
        sum + numbers[..<position].count { $0 > numbers[position] }
      }
      #expect(Inversions.count(numbers) == wanted)
    }
  }
}
