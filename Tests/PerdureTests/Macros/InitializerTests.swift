import Foundation
import Perdure
import Testing

@Entity private class Member: ManagedObject {
  var name: String
  var rank: Int = 3
  var unit: String? = "kg"
  var born: Date?
  @Relationship(inverse: "friends") var friends: ToMany<Member>

  override func awakeFromInsert() {
    rank = 7
    unit = "lb"
    born = Date(timeIntervalSinceReferenceDate: 5)
  }
}

@Entity private final class Clerk: Member {
  var salary: Double = 0
  var key: UUID = UUID()
  @Attribute(.composite) var home: Home
  @Relationship(inverse: "clerks", optional: false) var office: Office?
  @Attribute(derived: "office.title") private(set) var officeTitle: String?
}

@Entity private final class Office: ManagedObject {
  @Attribute(.unique) var title: String
  @Relationship(inverse: "office") var clerks: OrderedToMany<Clerk>
  @Relationship(inverse: "desks") var desks: ToMany<Office>
}

@Composite private struct Home: Equatable {
  var city: String? = "Paris"
}

@Entity private final class Own: ManagedObject {
  var name: String
  convenience init(context: ManagedObjectContext, twice name: String) {
    self.init(context: context)
    self.name = name + name
  }
}

@Suite("Initializers with the values of an object's properties")
struct InitializerTests {
  private func context() throws -> ManagedObjectContext {
    let container = try PersistentContainer(
      name: "Members", classes: [Member.self, Clerk.self, Office.self, Own.self], description: .inMemory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  @Test("The initializer sets the given values, and both sides of the given relationships")
  func given() throws {
    let context = try context()
    let office = Office(context: context, title: "North")
    let key = UUID()
    let clerk = Clerk(
      context: context, salary: 4200, key: key, home: Home(city: "Lyon"), office: office)
    clerk.name = "Ada"
    let other = Clerk(context: context, office: office)
    other.name = "Ben"
    try context.save()
    #expect(clerk.salary == 4200 && clerk.key == key && clerk.home.city == "Lyon")
    #expect(clerk.officeTitle == "North" && Array(office.clerks) == [clerk, other])
    #expect(other.salary == 0 && other.home.city == "Paris" && other.key != key)
    let south = Office(context: context, title: "South", clerks: [other, clerk], desks: [office])
    #expect(Array(south.clerks) == [other, clerk] && office.clerks.isEmpty && office.desks.contains(south))
  }

  @Test("Omitted values stay as awakeFromInsert sets them, but optionals get their declared default, if any")
  func omitted() throws {
    let context = try context()
    let member = Member(context: context, name: "Ada")
    #expect(member.name == "Ada" && member.rank == 7 && member.unit == "kg")
    #expect(member.born?.timeIntervalSinceReferenceDate == 5 && member.friends.isEmpty)
    let other = Member(
      context: context, name: "Ben", rank: 1, unit: nil, born: .distantPast, friends: [member])
    #expect(other.rank == 1 && other.unit == nil && other.born == .distantPast)
    #expect(member.friends.contains(other))
  }

  @Test("A subclass has its own initializer and the initializer of its superclass")
  func inherited() throws {
    let context = try context()
    let clerk = Clerk(context: context, name: "Ada", rank: 2)
    #expect(clerk.name == "Ada" && clerk.rank == 2 && clerk.salary == 0)
  }

  @Test("A call with only the context creates an object, and a save requires the missing values")
  func alone() throws {
    let context = try context()
    let office = Office(context: context)
    #expect(office.title.isEmpty)
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.code == .missingMandatoryProperty && error?.details.map(\.property) == ["title"])
  }

  @Test("A class keeps its handwritten initializer whose first parameter is the context")
  func own() throws {
    #expect(Own(context: try context(), twice: "ab").name == "abab")
  }
}
