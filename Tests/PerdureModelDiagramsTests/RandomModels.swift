import PerdureModel
import PerdureTestSupport

/// Creates valid models with random inheritance and relationships.
struct RandomModels {
  var generator: SeededGenerator

  /// - Parameters:
  ///   - entityCount: The number of entities.
  ///   - relationshipCount: The number of relationships, without their inverses. Some lead to the
  ///     entity that declares them.
  mutating func entities(_ entityCount: Int, relationshipCount: Int) -> [EntityDescription] {
    var entities = (0..<entityCount).map { number in
      EntityDescription(
        "Entity\(number)", superentity: superentity(number), isAbstract: chance(10),
        properties: (0..<Int.random(in: 0...7, using: &generator)).map { attribute in
          .attribute(
            "e\(number)_\(attribute)", AttributeType.allCases.dropFirst().randomElement(using: &generator)!)
        })
    }
    for number in 0..<relationshipCount {
      let from = Int.random(in: entities.indices, using: &generator)
      let near = max(0, from - 9)...min(entityCount - 1, from + 9)
      let to = chance(10) ? from : Int.random(in: chance(20) ? 0...entityCount - 1 : near, using: &generator)
      add("r\(number)", from, to: to, &entities)
    }
    return entities
  }

  private mutating func superentity(_ number: Int) -> String? {
    number > 0 && chance(30) ? "Entity\(Int.random(in: 0..<number, using: &generator))" : nil
  }

  private mutating func add(_ name: String, _ from: Int, to: Int, _ entities: inout [EntityDescription]) {
    let isOwnInverse = from == to && chance(30)
    let inverse = isOwnInverse ? name : chance(80) ? name + "_back" : nil
    entities[from].properties.append(relationship(name, to, inverse))
    if let inverse, !isOwnInverse { entities[to].properties.append(relationship(inverse, from, name)) }
  }

  private mutating func relationship(_ name: String, _ to: Int, _ inverse: String?) -> PropertyDescription {
    .relationship(
      RelationshipDescription(
        name, to: "Entity\(to)", inverse: inverse, maxCount: chance(50) ? 1 : 0,
        deleteRule: chance(30) ? .cascade : .nullify))
  }

  private mutating func chance(_ percent: Int) -> Bool {
    Int.random(in: 0..<100, using: &generator) < percent
  }
}
