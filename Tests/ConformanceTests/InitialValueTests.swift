import Foundation
import Perdure
import Testing

@Entity private final class Visit: ManagedObject {
  var began: Date = Date()
  @Attribute(.indexed) var seen: Date? = .now
  var key: UUID = UUID()
  var other: UUID? = Foundation.UUID()
  var fixed: Date = Date(timeIntervalSinceReferenceDate: 5)
}

/// A7 of the reference: defaults that are the same for all objects, and such that each gets of its own.
@Suite("Initial values of attributes")
struct InitialValueTests {
  @Test("The time and a UUID are made for each object that is inserted; other values once")
  func made() throws {
    let defaults = Visit.entityDescription.properties.compactMap { property in
      if case .attribute(let attribute) = property { attribute.defaultValue } else { nil }
    }
    #expect(
      defaults == [.now, .now, .newUUID, .newUUID, .date(Date(timeIntervalSinceReferenceDate: 5))])
    let context = try Sandbox(Visit.self).container.newContext()
    let before = Date()
    let visits = (0..<3).map { _ in Visit(context: context) }
    let after = Date()
    try context.save()
    for visit in visits {
      #expect(visit.began >= before && visit.began <= after)
      #expect(visit.seen.map { $0 >= before && $0 <= after } == true)
      #expect(visit.fixed == Date(timeIntervalSinceReferenceDate: 5))
    }
    #expect(Set(visits.flatMap { [$0.key, $0.other] }).count == 6)
  }
}
