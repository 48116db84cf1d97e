// A context that makes random edits. Its model has every kind of index.

import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import Perdure

struct LayeredScene {
  let container: PersistentContainer
  let context: ManagedObjectContext
  var random: SeededGenerator
  var lastNumber: Int64 = 0

  init(_ random: SeededGenerator) throws {
    let model = try TestModel.model(indexed: true)
    container = PersistentContainer(name: "Layers", model: model, classes: [], description: .inMemory)
    try container.loadPersistentStores()
    context = container.newContext()
    self.random = random
  }

  // MARK: Edits

  private mutating func any(_ entity: String) -> ManagedObject? {
    let all = try? context.fetch(FetchRequest<ManagedObject>(entityName: entity))
    return all?.sorted { $0.objectID.uri < $1.objectID.uri }.randomElement(using: &random)
  }

  mutating func edit() {
    lastNumber += 1
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<30:
      let entity = ["Employee", "Manager", "Company", "Tag", "Badge"].randomElement(using: &random)!
      describe(context.insertNewObject(forEntityName: entity))
    case 30..<50: any("Employee").map { describe($0) }
    case 50..<60: any("Employee")?.setValue(any("Company"), forKey: "company")
    case 60..<66: any("Employee")?.setValue(any("Employee"), forKey: "boss")
    case 66..<70: any("Employee")?.setValue(any("Badge"), forKey: "badge")
    case 70..<78: toggle()
    case 78..<86: move()
    default: any(["Party", "Tag", "Badge"].randomElement(using: &random)!).map { context.delete($0) }
    }
  }

  private mutating func describe(_ object: ManagedObject) {
    switch object.entity.name {
    case "Employee", "Manager":
      object.setValue("n\(Int.random(in: 0..<9, using: &random))", forKey: "name")
      object.setValue(Int.random(in: 0..<5, using: &random) == 0 ? nil : Int16(lastNumber % 7), forKey: "age")
      object.setValue(lastNumber, forKey: "big")
      object.setValue(Double.random(in: -3..<3, using: &random), forKey: "salary")
    case "Company": object.setValue("c\(lastNumber)", forKey: "name")
    case "Tag": object.setValue("t\(Int.random(in: 0..<4, using: &random))", forKey: "label")
    default: object.setValue(Int32(lastNumber), forKey: "number")
    }
  }

  /// Changes an ordered relationship.
  private mutating func move() {
    guard let owner = any("Employee"), let tag = any("Tag") else { return }
    let errands = owner.mutableOrderedSetValue(forKey: "errands")
    if errands.contains(tag), Bool.random(using: &random) {
      errands.remove(tag)
    } else {
      errands.insert(tag, at: Int.random(in: 0...errands.count, using: &random))
    }
  }

  private mutating func toggle() {
    let friends = Bool.random(using: &random)
    guard let owner = any("Employee"), let other = any(friends ? "Employee" : "Tag") else { return }
    let set = owner.mutableSetValue(forKey: friends ? "friends" : "tags")
    if set.contains(other) { set.remove(other) } else { set.insert(other) }
  }
}
