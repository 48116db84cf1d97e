import FoundationEssentials
import Perdure
import PerdureModel
import PerdurePredicates
import Testing

@Suite("Ids and objects in requests")
struct ObjectIDFetchTests {
  private func saved(_ name: String) throws -> (ManagedObjectContext, Employee) {
    let context = try Staff.context()
    let worker = context.worker(name)
    try context.save()
    return (context, worker)
  }

  private func error(
    _ context: ManagedObjectContext, _ predicate: FetchPredicate
  ) -> FetchError? {
    #expect(throws: FetchError.self) { try context.fetch(FetchRequest<Employee>(predicate: predicate)) }
  }

  @Test("An id or object of another store is refused, even if its reference equals that of a row")
  func otherStore() throws {
    let (here, worker) = try saved("here")
    let (_, stranger) = try saved("there")
    #expect(worker.objectID != stranger.objectID)
    let ids: [any PredicateArgument] = [stranger.objectID, stranger]
    for argument in ids {
      for format in ["SELF == %@", "objectID == %@", "mentor == %@", "%@ == SELF", "ANY friends == %@"] {
        let found = error(here, try FetchPredicate(format: format, argument))
        #expect(found?.code == .unknownObjectID, "\(format)")
        #expect(found?.key == stranger.objectID.uri)
        #expect(found?.message.contains("managedObjectID(forURI:)") == true)
      }
    }
    #expect(error(here, .query(Employee.self) { $0.is(stranger) })?.code == .unknownObjectID)
    #expect(error(here, .query(Employee.self) { !$0.is(stranger) })?.code == .unknownObjectID)
    let name = try FetchPredicate(format: "name != %@", stranger)
    #expect(error(here, name)?.code == .typeMismatch)
    let names = try FetchPredicate(format: "name IN %@", [stranger])
    #expect(error(here, names)?.code == .typeMismatch)
  }

  @Test("In a list, an id or object of another store matches no object")
  func otherStoreInLists() throws {
    let (context, worker) = try saved("here")
    let other = context.worker("other")
    (worker.mentor, other.company) = (other, context.company("C"))
    worker.friends.insert(other)
    other.company?.chief = worker
    let (_, stranger) = try saved("there")
    let all = ["here", "other"]
    for isSaved in [false, true] {
      func check(_ format: String, _ arguments: [any PredicateArgument], _ names: [String]) throws {
        let predicate = try FetchPredicate(format: format, argumentArray: arguments)
        let found = try context.fetch(FetchRequest<Employee>(predicate: predicate))
        #expect(found.map(\.name).sorted() == names, "\(format), saved: \(isSaved)")
        let inHand = try [worker, other].filtered(by: predicate).map(\.name)
        #expect(inHand.sorted() == names, "\(format) in hand")
      }
      for (mine, both) in [
        ([stranger.objectID], [stranger.objectID, other.objectID]), ([stranger], [stranger, other]),
      ] as [(any PredicateArgument, any PredicateArgument)] {
        for path in ["SELF", "mentor", "objectID", "company.chief"] {
          try check("\(path) IN %@", [mine], [])
          try check("NOT \(path) IN %@", [mine], all)
        }
        try check("SELF IN %@", [both], ["other"])
        try check("NOT SELF IN %@", [both], ["here"])
        try check("mentor IN %@", [both], ["here"])
        try check("ANY friends IN %@", [both], ["here"])
        try check("NONE friends IN %@", [both], ["other"])
        try check("ANY friends IN %@", [mine], [])
      }
      for argument in [stranger.objectID, stranger] as [any PredicateArgument] {
        try check("SELF IN {%@, %@}", [argument, worker], ["here"])
        try check("SELF IN ({%@} UNION {%@})", [argument, worker], ["here"])
        try check("SELF IN (friends UNION {%@})", [argument], [])
        try check("SELF IN ({%@, %@} INTERSECT friends)", [argument, other], [])
        try check("mentor IN (friends MINUS {%@})", [argument], ["here"])
        for format in ["SELF != %@", "%@ != SELF", "mentor != %@", "ANY friends != %@"] {
          try check(format, [argument], all)
        }
      }
      try context.save()
    }
    let list = FetchPredicate.query(Employee.self) { $0.in([worker.objectID, stranger.objectID]) }
    #expect(try context.fetch(FetchRequest<Employee>(predicate: list)) == [worker])
  }

  @Test("An id that was printed and parsed finds its object in every kind of request")
  func decoded() throws {
    let (context, worker) = try saved("W")
    let other = context.worker("O")
    other.mentor = worker
    try context.save()
    let read = try #require(ManagedObjectID(uri: worker.objectID.uri))
    #expect(try context.fetch(Employee.fetchRequest { $0.is(read) }) == [worker])
    #expect(try context.fetch(Employee.fetchRequest { $0.in([read, other.objectID]) }).count == 2)
    let format = FetchRequest<Employee>(predicate: try FetchPredicate(format: "mentor == %@", read))
    #expect(try context.fetch(format) == [other])
    other.name = "pending"
    #expect(try context.fetch(format) == [other])
    let variable = try FetchPredicate(format: "mentor == $m").withSubstitutionVariables(["m": read])
    #expect(try context.fetch(FetchRequest<Employee>(predicate: variable)) == [other])
  }

  @Test("The text of a predicate with the id of an unsaved object can be parsed again")
  func printed() throws {
    let context = try Staff.context()
    let (worker, friend) = (context.worker("W"), context.worker("F"))
    worker.mentor = friend
    let predicate = try FetchPredicate(format: "mentor == %@", friend)
    #expect("\(predicate)" == "mentor == OBJECT(\"\(friend.objectID.uri)\")")
    let read = try FetchPredicate(format: "\(predicate)")
    #expect(read == predicate)
    #expect(try context.fetch(FetchRequest<Employee>(predicate: read)) == [worker])
  }

  @Test("A comparison with an object of an unrelated entity is an error")
  func otherEntity() throws {
    let (context, worker) = try saved("W")
    let company = context.company("C")
    try context.save()
    for format in [
      "mentor == %@", "SELF == %@", "ANY friends == %@", "friends CONTAINS %@", "company.chief == %@",
    ] {
      let found = error(context, try FetchPredicate(format: format, company))
      #expect(found?.code == .typeMismatch, "\(format)")
      #expect(
        found?.message.contains(
          "is an object of the entity Employee and is compared with an object of the entity Company") == true)
      #expect(
        try context.fetch(FetchRequest<Employee>(predicate: FetchPredicate(format: format, worker))) != [
          company
        ])
    }
    let party = FetchRequest<Party>(predicate: try FetchPredicate(format: "SELF == %@", company))
    #expect(try context.fetch(party) == [company])
  }

  @Test("A request for a class that the entity's objects do not have is refused")
  func otherClass() throws {
    let (context, worker) = try saved("W")
    let wrong = FetchRequest<Company>(entityName: "Employee")
    let error = #expect(throws: FetchError.self) { try context.fetch(wrong) }
    #expect(error?.code == .otherClass)
    #expect(error?.message.contains("FetchRequest<Employee>") == true)
    let nameless = #expect(throws: FetchError.self) { try context.fetch(FetchRequest<ManagedObject>()) }
    #expect(nameless?.code == .unknownEntity)
    #expect(try context.fetch(FetchRequest<ManagedObject>(entityName: "Employee")) == [worker])
    #expect(try context.fetch(FetchRequest<Party>(entityName: "Employee")) == [worker])
  }
}
