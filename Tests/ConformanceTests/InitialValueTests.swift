import Foundation
import Perdure
import Testing

@Composite private struct Stay: Equatable {
  var began: Date = Date()
  var key: UUID = UUID()
  var other: UUID? = UUID()
  var floor: Int = 2
}

@Composite private struct Journey: Equatable {
  var stay: Stay
  var last: Stay?
}

@Entity(unique: [["stay.key"]]) private final class Visit: ManagedObject {
  var began: Date = Date()
  @Attribute(.indexed) var seen: Date? = .now
  var key: UUID = UUID()
  var other: UUID? = Foundation.UUID()
  var fixed: Date = Date(timeIntervalSinceReferenceDate: 5)
  @Attribute(.composite) var stay: Stay
  @Attribute(.composite) var journey: Journey
  @Attribute(.transient) var opened: Date = Date()
  @Attribute(.transient) var token: UUID? = UUID()
}

/// A value that cannot be encoded as JSON.
private struct Secret: CodableAttributeValue {
  struct NotTold: Error {}

  init() {}
  init(from decoder: any Decoder) throws { throw NotTold() }
  func encode(to encoder: any Encoder) throws { throw NotTold() }
}

@Composite private struct Sign {
  var secret: Secret?
}

@Entity private final class Post: ManagedObject {
  @Attribute(.composite) var sign: Sign? = Sign(secret: Secret())
}

/// Behaviours A7 and X2 of Core Data (README.md): defaults that are equal for all objects, and
/// defaults that are generated for each object.
@Suite("Initial values of attributes")
struct InitialValueTests {
  private func visits(_ count: Int) throws -> (context: ManagedObjectContext, visits: [Visit]) {
    let context = try Sandbox(Visit.self).container.newContext()
    let visits = (0..<count).map { _ in Visit(context: context) }
    try context.save()
    return (context, visits)
  }

  private func defaults(_ properties: ArraySlice<PropertyDescription>) -> [DefaultValue] {
    properties.compactMap { if case .attribute(let attribute) = $0 { attribute.defaultValue } else { nil } }
  }

  /// Whether a date is within a day of now, unlike a fixed default or zero. The range is wide
  /// because the clock may change during a test.
  private func isNow(_ date: Date?) -> Bool { abs(date?.timeIntervalSinceNow ?? .infinity) < 86_400 }

  @Test("Current times and UUIDs are generated for each inserted object")
  func made() throws {
    #expect(
      defaults(Visit.entityDescription.properties.prefix(5))
        == [.now, .now, .newUUID, .newUUID, .date(Date(timeIntervalSinceReferenceDate: 5))])
    let (_, visits) = try visits(3)
    for visit in visits {
      #expect(isNow(visit.began) && isNow(visit.seen))
      #expect(visit.fixed == Date(timeIntervalSinceReferenceDate: 5))
    }
    #expect(Set(visits.flatMap { [$0.key, $0.other] }).count == 6)
  }

  @Test("Initial values of composite elements are generated for each object")
  func composites() throws {
    #expect(Stay.compositeElements == Stay.compositeElements)
    let (_, visits) = try visits(3)
    for visit in visits {
      #expect(isNow(visit.stay.began) && visit.stay.floor == 2 && visit.journey.last == nil)
    }
    let stays = visits.flatMap { [$0.stay, $0.journey.stay] }
    #expect(Set(stays.flatMap { [$0.key, $0.other] }).count == 12)
  }

  @Test("Initial values of transient attributes are generated for each object at the first read")
  func transients() throws {
    #expect(defaults(Visit.entityDescription.properties.suffix(2)) == [])
    let (context, visits) = try visits(2)
    #expect(visits[0].value(forKey: "token") == nil)
    #expect(visits.allSatisfy { isNow($0.opened) && !$0.hasChanges })
    let opened = visits[0].opened
    let tokens = visits.map(\.token)
    #expect(Set(tokens).count == 2 && !tokens.contains(nil))
    #expect(visits[0].opened == opened && visits.map(\.token) == tokens)
    #expect(visits[0].value(forKey: "token") as? UUID == tokens[0])
    visits[0].token = nil
    visits[0].opened = Date(timeIntervalSinceReferenceDate: 1)
    #expect(visits[0].token == nil && visits[0].opened == Date(timeIntervalSinceReferenceDate: 1))
    context.rollback()
    #expect(visits[0].token == tokens[0] && visits[0].opened == opened)
  }

  @Test("X2 An initial value is not a change, but a value set later is a change")
  func unchanged() throws {
    let context = try Sandbox(Visit.self).container.newContext()
    let visit = Visit(context: context)
    #expect(visit.changedValues().isEmpty && visit.changedValuesForCurrentEvent().isEmpty)
    let (key, floor) = (visit.key, visit.stay.floor)
    visit.key = UUID()
    visit.stay.floor = floor + 1
    #expect(visit.changedValues().keys.sorted() == ["key", "stay"])
    let before = visit.changedValuesForCurrentEvent()
    #expect(before["key"] as? UUID == key)
    #expect((before["stay"] as? [String: Any?])?["floor"] as? Int == Int(floor))
    (visit.key, visit.stay.floor) = (key, floor)
    #expect(visit.changedValues().isEmpty && visit.changedValuesForCurrentEvent().isEmpty)
    _ = (visit.opened, visit.token)
    #expect(visit.changedValues().isEmpty)
  }

  #if os(Linux) || os(macOS)
    @Test("An initial value of a composite with an element that cannot be stored stops the program")
    func unkept() async {
      let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
        _ = Post.entityDescription
      }
      let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
      #expect(said.contains("The initial value of secret cannot be kept"), "\(said)")
    }
  #endif
}
