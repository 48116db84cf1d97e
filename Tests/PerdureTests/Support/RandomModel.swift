// A model drawn at random: entities that inherit, and relationships of every form between them.

import Perdure
import PerdureLog
import PerdureModel
import PerdureTestSupport

/// One end of a relationship of a random model.
struct RandomEnd: Hashable {
  /// The position of the relationship in the model, which both ends share.
  let pair: Int
  /// 0 for the first end, 1 for the inverse.
  let side: Int
  let entity: Int
  let destination: Int
  var isToMany = true
  var isOrdered = false
  var isTransient = false
  var rule = DeleteRule.nullify
  var isOptional = true
  var minCount = 0
  /// 0 means no limit. Not used at a to-one end.
  var maxCount = 0

  var name: String { "r\(pair)\(side == 0 ? "a" : "b")" }

  /// Whether an object can be saved with `count` objects at the other end.
  func allows(_ count: Int) -> Bool {
    if count == 0 { return isOptional }
    return !isToMany || count >= minCount && (maxCount == 0 || count <= maxCount)
  }
}

/// The kind of an end's inverse.
enum RandomInverse: Hashable { case none, itself, other }

/// A model drawn at random, as plain values.
struct RandomModel {
  struct Entity {
    let name: String
    /// The position of the superentity.
    let parent: Int?
    let isAbstract: Bool
  }

  private(set) var entities: [Entity] = []
  /// The ends of each relationship: one end, or two.
  private(set) var pairs: [[RandomEnd]] = []
  private(set) var inverses: [RandomInverse] = []
  /// Whether the number is unique among the objects of a root entity and its subentities.
  var hasUniqueNumbers = false

  /// - Parameter rules: The delete rules that ends may have.
  init(_ random: inout SeededGenerator, rules: [DeleteRule]) {
    addTree(&random)
    addTree(&random)
    for _ in 0..<Int.random(in: 3...6, using: &random) { addPair(&random, rules) }
  }

  /// Gives some of the to-many ends an order.
  mutating func order(_ random: inout SeededGenerator) {
    for pair in pairs.indices {
      for place in pairs[pair].indices where pairs[pair][place].isToMany {
        pairs[pair][place].isOrdered = random.chance(40)
      }
    }
  }

  /// Makes some of the relationships transient. They require no objects, because their links may be
  /// lost at any time.
  mutating func makeTransient(_ random: inout SeededGenerator) {
    for pair in pairs.indices where random.chance(25) {
      for place in pairs[pair].indices {
        pairs[pair][place].isTransient = true
        pairs[pair][place].isOrdered = false
        pairs[pair][place].isOptional = true
        pairs[pair][place].minCount = 0
      }
    }
  }

  private mutating func addTree(_ random: inout SeededGenerator) {
    let root = entities.count
    let childCount = Int.random(in: 0...2, using: &random)
    let isAbstract = childCount > 0 && random.chance(50)
    entities.append(Entity(name: "E\(root)", parent: nil, isAbstract: isAbstract))
    for number in 0..<childCount {
      entities.append(Entity(name: "E\(root + 1 + number)", parent: root, isAbstract: false))
    }
  }

  private mutating func addPair(_ random: inout SeededGenerator, _ rules: [DeleteRule]) {
    let number = pairs.count
    let (from, to) = (random.pick(entities.indices), random.pick(entities.indices))
    let inverse: RandomInverse =
      random.chance(15) ? .none : from == to && random.chance(50) ? .itself : .other
    var ends = [RandomEnd(pair: number, side: 0, entity: from, destination: to)]
    if inverse == .other { ends.append(RandomEnd(pair: number, side: 1, entity: to, destination: from)) }
    for place in ends.indices {
      ends[place].isToMany = random.chance(50)
      ends[place].rule = random.chance(50) ? .nullify : random.pick(rules)
      if random.chance(10) { ends[place].isOptional = false }
      guard ends[place].isToMany else { continue }
      if random.chance(20) { ends[place].maxCount = random.pick(2...3) }
      if random.chance(15) { ends[place].minCount = random.pick(1...2) }
    }
    pairs.append(ends)
    inverses.append(inverse)
  }

  /// The other end of the same relationship.
  func inverse(of end: RandomEnd) -> RandomEnd? {
    switch inverses[end.pair] {
    case .none: nil
    case .itself: end
    case .other: pairs[end.pair][1 - end.side]
    }
  }

  func isKind(_ entity: Int, of other: Int) -> Bool {
    entity == other || entities[entity].parent == other
  }

  /// The ends that objects of an entity have, in the order of their properties.
  func ends(of entity: Int) -> [RandomEnd] {
    let lineage = [entities[entity].parent, entity].compactMap { $0 }
    return lineage.flatMap { declaring in pairs.joined().filter { $0.entity == declaring } }
  }

  var concrete: [Int] { entities.indices.filter { !entities[$0].isAbstract } }

  var descriptions: [EntityDescription] {
    entities.indices.map { position in
      let entity = entities[position]
      let relationships = pairs.joined().filter { $0.entity == position }.map(description)
      return EntityDescription(
        entity.name, superentity: entity.parent.map { entities[$0].name }, isAbstract: entity.isAbstract,
        properties: (entity.parent == nil ? [.int64("number")] : []) + relationships,
        uniquenessConstraints: hasUniqueNumbers && entity.parent == nil ? [["number"]] : [])
    }
  }

  private func description(_ end: RandomEnd) -> PropertyDescription {
    let (destination, inverse) = (entities[end.destination].name, inverse(of: end)?.name)
    return end.isToMany
      ? .toMany(
        end.name, destination, inverse: inverse, optional: end.isOptional, minCount: end.minCount,
        maxCount: end.maxCount, deleteRule: end.rule, ordered: end.isOrdered, transient: end.isTransient)
      : .toOne(
        end.name, destination, inverse: inverse, optional: end.isOptional, deleteRule: end.rule,
        transient: end.isTransient)
  }

  /// One line for the entities, and one for each end of a relationship.
  var text: String {
    let names = entities.map { entity in
      entity.name + (entity.parent.map { ": \(entities[$0].name)" } ?? "")
        + (entity.isAbstract ? " (abstract)" : "")
    }
    let ends = pairs.joined().map { end in
      "\(entities[end.entity].name).\(end.name) -> \(entities[end.destination].name)"
        + " \(end.isOrdered ? "ordered " : "")\(end.isTransient ? "transient " : "")\(end.isToMany ? "many" : "one") \(end.rule)"
        + " inverse \(inverses[end.pair])"
        + "\(end.isOptional ? "" : " required") \(end.minCount)...\(end.maxCount)"
    }
    return ([names.joined(separator: ", ")] + ends).joined(separator: "\n")
  }
}

extension StoreKind {
  /// Returns a container with a random model. The store of the engine is a file in the directory,
  /// so that it can be opened again.
  func container(_ model: RandomModel, in directory: TemporaryDirectory) throws -> PersistentContainer {
    let container = PersistentContainer(
      name: "Random", model: try ManagedObjectModel(model.descriptions), classes: [],
      description: self == .engine
        ? .init(path: directory.file("random.perdure"), durability: .relaxed) : .inMemory,
      factory: factory)
    try container.loadPersistentStores()
    return container
  }
}
