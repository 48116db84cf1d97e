import Foundation
import Perdure
import PerdureModel
import PerdurePredicates
import Testing

@Composite private struct Place: Hashable {
  var city: String = "Paris"
  var street: String?
  var number: Int
}

@Composite private struct Stay: Hashable {
  var begin: Date = Date()
  var days: Int = 1
  @Attribute(.elementDefaults, originalName: "spot") var place: Place?
  var other: Place?
}

@Entity private final class Trip: ManagedObject {
  @Attribute(.composite, .elementDefaults) var stay: Stay?
  @Attribute(.composite) var plain: Stay?
}

@Suite("Optional composites that begin with the defaults of their elements")
struct ElementDefaultTests {
  private func context() throws -> ManagedObjectContext {
    let container = try PersistentContainer(name: "Trips", classes: [Trip.self], description: .inMemory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  @Test("The description has the defaults of the elements at any depth, if the option is set")
  func description() throws {
    let entity = EntityDescription(from: Trip.self)
    func place(_ city: DefaultValue?) -> [PropertyDescription] {
      [
        .string("city", optional: false, default: city), .string("street"),
        .int64("number", optional: false),
      ]
    }
    func stay(_ name: String, begin: DefaultValue?, days: DefaultValue?, city: DefaultValue?)
      -> PropertyDescription
    {
      .composite(
        name,
        [
          .date("begin", optional: false, default: begin), .int64("days", optional: false, default: days),
          .composite(CompositeAttributeDescription("place", place(city), renamingIdentifier: "spot")),
          .composite("other", place(nil)),
        ])
    }
    #expect(
      entity.properties == [
        stay("stay", begin: .now, days: 1, city: "Paris"), stay("plain", begin: nil, days: nil, city: nil),
      ])
  }

  @Test("A new object has the defaults; a save requires the required elements until the composite is nil")
  func objects() throws {
    let context = try context()
    let before = Date()
    let (first, second) = (Trip(context: context), Trip(context: context))
    for trip in [first, second] {
      let stay = try #require(trip.stay)
      #expect(stay.begin >= before && stay.days == 1 && stay.other == nil && trip.plain == nil)
      #expect(stay.place == Place(city: "Paris", street: nil, number: 0))
    }
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(Set(error?.details.map(\.property) ?? []) == ["stay.place.number"])
    first.stay?.place?.number = 5
    second.stay = nil
    try context.save()
    #expect(first.stay?.place == Place(number: 5) && second.stay == nil && second["stay.days"] == nil)
  }
}
