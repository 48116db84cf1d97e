import Foundation
import Perdure
import PerdureModel
import PerdureTestSupport
import Testing

@Entity(unique: [["code"], ["number"]]) private final class Ware: ManagedObject {
  var code: String?
  var number: Int?
  var name: String?
  var stock: Int = 0
  @Attribute(.transient) var zoom: Double = 1
  @Transient var onValidate: (() throws -> Void)?

  override func validateForInsert() throws { try onValidate?() }
}

@Suite("Merging: the state that a failed save restores, and its events")
struct PutBackTests {
  private let container: PersistentContainer
  private let (here, there): (ManagedObjectContext, ManagedObjectContext)

  init() throws {
    container = PersistentContainer(
      name: "Wares", model: try ManagedObjectModel([Ware.entityDescription]), classes: [Ware.self],
      description: .inMemory, factory: StoreKind.current.factory)
    try container.loadPersistentStores()
    (here, there) = (container.newContext(), container.newContext())
  }

  private func ware(_ context: ManagedObjectContext, _ code: String) -> Ware {
    let ware = Ware(context: context)
    ware.code = code
    return ware
  }

  /// Inserts an object whose validation makes the save fail after the first merge.
  private func guardian(_ afterMerge: @escaping () -> Void = {}) -> Ware {
    let guardian = ware(here, "guardian")
    var count = 0
    guardian.onValidate = { [unowned guardian] in
      count += 1
      if count == 1 { return }
      afterMerge()
      throw PerdureError.invalid(guardian, "name", "must not be merged")
    }
    return guardian
  }

  @Test("If the save fails, a merged new object has its transient values again and stays retained")
  func upserted() throws {
    _ = ware(there, "x")
    try there.save()
    here.mergePolicy = .mergeByPropertyObjectTrump
    here.retainsRegisteredObjects = true
    let guardian = guardian()
    let id = try {
      let new = ware(here, "x")
      new.zoom = 7
      #expect(throws: PerdureError.self) { try here.save() }
      #expect(new.isInserted && new.managedObjectContext === here && new.zoom == 7)
      #expect(new.changedValues().keys.contains("zoom"))
      guardian.onValidate = nil
      new.code = "y"
      try here.save()
      #expect(new.zoom == 7)
      return new.objectID
    }()
    #expect(here.registeredObject(for: id) != nil)
  }

  @Test("If the save fails, dropped changes and transient values return until a rollback")
  func dropped() throws {
    let (theirs, guardian) = (ware(there, "x"), guardian())
    try there.save()
    here.refreshAllObjects()
    here.mergePolicy = .rollback
    let mine = try here.same(theirs)
    mine.name = "here"
    mine.zoom = 7
    theirs.name = "there"
    try there.save()
    #expect(throws: PerdureError.self) { try here.save() }
    #expect(mine.name == "here" && mine.zoom == 7 && Set(mine.changedValues().keys) == ["name", "zoom"])
    here.rollback()
    #expect(mine.name == "there" && mine.zoom == 1 && guardian.managedObjectContext == nil)
  }

  @Test("If the save fails, the instance of an object that another context deleted is registered again")
  func gone() throws {
    let theirs = ware(there, "x")
    try there.save()
    here.refreshAllObjects()
    here.mergePolicy = .mergeByPropertyStoreTrump
    let mine = try here.same(theirs)
    mine.name = "here"
    mine.zoom = 7
    there.delete(theirs)
    try there.save()
    var other: ManagedObject?
    let guardian = guardian { [here, id = mine.objectID] in other = here.object(with: id) }
    #expect(throws: PerdureError.self) { try here.save() }
    #expect(other !== mine && here.registeredObject(for: mine.objectID) === mine)
    #expect(here.registeredObjects == [mine, guardian] && other?.managedObjectContext == nil)
    #expect(mine.name == "here" && mine.zoom == 7 && mine.changedValues().keys.contains("zoom"))
    guardian.onValidate = nil
    try here.save()
    #expect(mine.managedObjectContext == nil && !here.hasChanges)
  }

  @Test("If the save fails, an object that the merge inserted again has its transient values")
  func insertedAgain() throws {
    let (theirs, guardian) = (ware(there, "x"), guardian())
    try there.save()
    here.refreshAllObjects()
    here.mergePolicy = .mergeByPropertyObjectTrump
    let mine = try here.same(theirs)
    mine.name = "here"
    mine.zoom = 7
    there.delete(theirs)
    try there.save()
    #expect(throws: PerdureError.self) { try here.save() }
    #expect(mine.name == "here" && mine.zoom == 7 && Set(mine.changedValues().keys) == ["name", "zoom"])
    guardian.onValidate = nil
    try here.save()
    #expect(mine.isKnownToBeSaved && mine.name == "here" && mine.zoom == 7)
  }

  @Test("The beginning and the end of a save are each reported once, for any number of merges")
  func told() throws {
    let theirs = ware(there, "x")
    try there.save()
    here.refreshAllObjects()
    let mine = try here.same(theirs)
    var (kinds, count) = ([ContextEventKind](), 0)
    let observation = here.observe { kinds.append($0.kind) }
    let guardian = ware(here, "guardian")
    guardian.onValidate = { [there] in
      count += 1
      guard count < 4 else { return }
      theirs.stock = count
      try there.save()
    }
    mine.name = "here"
    try here.save()
    observation.cancel()
    #expect(count == 4 && mine.stock == 3 && mine.name == "here")
    #expect(kinds.filter { $0 == .willSave }.count == 1 && kinds.filter { $0 == .didSave }.count == 1)
  }

  @Test(
    "In a chain of merges, `mergedObjectIDs` maps each object to the final object",
    arguments: [false, true])
  func chain(isSwapped: Bool) throws {
    func make(_ context: ManagedObjectContext, _ code: Int?, _ number: Int?) -> Ware {
      let ware = Ware(context: context)
      let (first, second) = isSwapped ? (number, code) : (code, number)
      (ware.code, ware.number) = (first.map { "\($0)" }, second)
      return ware
    }
    let saved = make(there, nil, 5)
    try there.save()
    here.refreshAllObjects()
    here.mergePolicy = .mergeByPropertyStoreTrump
    let ids = [make(here, 1, 5), make(here, 1, 7)].map(\.objectID)
    try here.save()
    #expect(here.mergedObjectIDs == [ids[0]: saved.objectID, ids[1]: saved.objectID])
    #expect(try container.newContext().count(for: FetchRequest<Ware>()) == 1)
  }

  @Test("If a merge drops a deletion, all objects of its cascade return, even in a chain of 10,000 objects")
  func longChain() throws {
    let container = try Staff.container()
    let (here, there) = (container.newContext(), container.newContext())
    var departments = [Department(context: there)]
    for _ in 1..<10_000 {
      let department = Department(context: there)
      department.parent = departments.last
      departments.append(department)
    }
    try there.save()
    here.refreshAllObjects()
    here.mergePolicy = .mergeByPropertyStoreTrump
    here.delete(try here.same(departments[0]))
    departments[0].name = "changed"
    try there.save()
    try here.save()
    #expect(try container.newContext().count(for: FetchRequest<Department>()) == departments.count)
    #expect(try here.same(departments[0]).name == "changed" && !here.hasChanges)
  }
}

extension Ware {
  fileprivate var isKnownToBeSaved: Bool { managedObjectContext != nil && !hasChanges && !isDeleted }
}
