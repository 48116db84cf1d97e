import Perdure
import Testing

@Entity private class Person: ManagedObject {
  var name: String = ""
  var grade: Int = 0
  @Attribute(.composite) var home: Home?
  @Relationship(inverse: "boss") var staff: ToMany<Person>
  @Relationship(inverse: "staff") var boss: Person?
}

@Composite private struct Home { var city: String? }

@Suite("Key paths after variables, such as $FETCH_SOURCE.name")
struct VariablePathTests {
  private let context: ManagedObjectContext

  init() throws { context = try Sandbox(Person.self).container.newContext() }

  private func person(_ name: String, _ grade: Int, boss: Person? = nil) -> Person {
    let person = Person(context: context)
    (person.name, person.grade, person.boss) = (name, grade, boss)
    return person
  }

  private func names(_ format: String, _ source: Person) throws -> [String] {
    let predicate = try FetchPredicate(format: format).withSubstitutionVariables(["FETCH_SOURCE": source])
    return try context.fetch(FetchRequest<Person>(predicate: predicate)).map(\.name).sorted()
  }

  @Test("A path after a variable yields the object's current value, saved or unsaved")
  func values() throws {
    let (ada, bob) = (person("Ada", 3), person("Bob", 2))
    let cid = person("Cid", 1, boss: bob)
    try context.save()
    #expect(try names("name == $FETCH_SOURCE.name", ada) == ["Ada"])
    #expect(try names("grade > $FETCH_SOURCE.grade - 1", bob) == ["Ada", "Bob"])
    #expect(try names("name == $FETCH_SOURCE.boss.name", cid) == ["Bob"])
    #expect(try names("SELF == $FETCH_SOURCE.boss", cid) == ["Bob"])
    #expect(try names("SELF IN $FETCH_SOURCE.staff", bob) == ["Cid"])
    #expect(try names("boss == $FETCH_SOURCE.boss", ada) == ["Ada", "Bob"])
    #expect(try names("name == $FETCH_SOURCE.boss.name", ada) == [])
    (ada.home, bob.home) = (Home(city: "Rome"), Home(city: "Rome"))
    #expect(try names("home.city == $FETCH_SOURCE.home.city", ada) == ["Ada", "Bob"])
    cid.grade = 9
    #expect(try names("grade < $FETCH_SOURCE.grade", cid) == ["Ada", "Bob"])
  }

  @Test("An unknown path after a variable makes the fetch throw an error")
  func unknown() throws {
    let ada = person("Ada", 3)
    for path in ["nmae", "name.length", "staff.name", "boss.nmae"] {
      #expect(throws: FetchError.self) { try names("name == $FETCH_SOURCE.\(path)", ada) }
    }
  }
}
