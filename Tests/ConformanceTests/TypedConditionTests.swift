import Foundation
import Perdure
import Testing

@Entity private final class Household: ManagedObject {
  var name: String = ""
  var note: String?
  @Relationship(inverse: "household") var residents: ToMany<Resident>
}

@Entity private final class Resident: ManagedObject {
  var born: Date
  var left: Date?
  @Relationship(inverse: "residents") var household: Household?
}

@Suite("Typed conditions on absent texts and on dates of many objects")
struct TypedConditionTests {
  private let container: PersistentContainer
  private let context: ManagedObjectContext

  init() throws {
    container = try Sandbox(Household.self, Resident.self).container
    context = container.newContext()
  }

  private func household(_ name: String, note: String? = nil, born: [Double] = []) -> Household {
    let household = Household(context: context)
    (household.name, household.note) = (name, note)
    for seconds in born {
      let member = Resident(context: context)
      (member.born, member.household) = (Self.date(seconds), household)
    }
    return household
  }

  private static func date(_ seconds: Double) -> Date { Date(timeIntervalSinceReferenceDate: seconds) }

  /// The names of the found households. Checks that they are the same before and after a save.
  private func names(_ query: (EntityRef<Household>) -> FetchPredicate) throws -> [String] {
    let request = FetchRequest<Household>(where: query)
    let unsaved = try context.fetch(request).map(\.name).sorted()
    try context.save()
    #expect(try container.newContext().fetch(request).map(\.name).sorted() == unsaved)
    return unsaved
  }

  @Test("isEmpty finds the empty text of an optional attribute, and not a missing text")
  func emptyText() throws {
    _ = (household("none"), household("empty", note: ""), household("full", note: " "))
    #expect(try names { $0.note.isEmpty } == ["empty"])
    #expect(try names { !$0.note.isEmpty } == ["full", "none"])
    #expect(try names { $0.note == nil || $0.note.isEmpty } == ["empty", "none"])
  }

  @Test("The latest and the earliest date of many objects can be compared with a date and with nil")
  func latestDate() throws {
    _ = (household("a", born: [1, 5]), household("b", born: [2, 3]), household("c"))
    #expect(try names { $0.residents.max(\.born) == Self.date(5) } == ["a"])
    #expect(try names { $0.residents.max(\.born) > Self.date(2.5) } == ["a", "b"])
    #expect(try names { $0.residents.max(\.born) < Self.date(4) } == ["b"])
    #expect(try names { $0.residents.min(\.born) >= Self.date(2) } == ["b"])
    #expect(try names { $0.residents.max(\.born) == nil } == ["c"])
    #expect(try names { $0.residents.max(\.left) == nil } == ["a", "b", "c"])
  }
}
