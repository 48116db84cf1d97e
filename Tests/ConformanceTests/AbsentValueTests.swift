import Foundation
import Perdure
import PerdureTestSupport
import Testing

private struct Refusal: Error {}

/// A type without a zero value. Its encoder refuses one theme.
private struct Style: CodableAttributeValue, Equatable {
  var theme: String

  init(_ theme: String) { self.theme = theme }

  func encode(to encoder: any Encoder) throws {
    if theme == "refused" { throw Refusal() }
    var container = encoder.singleValueContainer()
    try container.encode(theme)
  }

  init(from decoder: any Decoder) throws {
    theme = try decoder.singleValueContainer().decode(String.self)
  }
}

/// A type that declares its zero value.
private struct Crest: CodableAttributeValue, Equatable {
  var figure: String
  static var zeroValue: Crest { Crest(figure: "zero") }
}

@Composite private struct Plan: Equatable {
  var style: Style = Style("plan")
  var crest: Crest
  var floors: Int = 0
}

@Entity private final class House: ManagedObject {
  var name: String = ""
  var style: Style = Style("dark")
  var crest: Crest
  var owner: ManagedObjectID
  @Attribute(.composite) var plan: Plan = Plan(crest: Crest(figure: "lion"), floors: 3)
  @Attribute(.transient) var mood: Style = Style("calm")
  var notes: [String] = []
  @Relationship(inverse: "houses") var street: Street
  @Relationship(inverse: "house") var windows: ToMany<Window>
}

@Entity private final class Street: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "street", deleteRule: .cascade) var houses: ToMany<House>
}

@Entity private final class Window: ManagedObject {
  var number: Int = 0
  @Relationship(inverse: "windows") var house: House
}

/// A class whose entity is also described in code, with another default.
@Entity private final class Sign: ManagedObject {
  var style: Style = Style("dark")
}

@Entity private final class Bare: ManagedObject {
  var style: Style
}

@Composite private struct BareFrame { var style: Style }

@Entity private final class BareTransient: ManagedObject {
  @Attribute(.transient) var style: Style
}

@Entity private final class Framed: ManagedObject {
  @Attribute(.composite) var frame: BareFrame?
}

@Suite("Required attributes without a readable value")
struct AbsentValueTests {
  private func container(in directory: TemporaryDirectory) throws -> PersistentContainer {
    let container = try PersistentContainer(
      name: "Town", classes: [House.self, Street.self, Window.self],
      description: .init(path: directory.file("town.perdure")))
    try container.loadPersistentStores()
    return container
  }

  @discardableResult
  private func house(_ context: ManagedObjectContext) throws -> House {
    let street = Street(context: context)
    let house = House(context: context)
    (house.crest, house.owner, house.street) = (Crest(figure: "lion"), street.objectID, street)
    (house.style, house.plan.style) = (Style("red"), Style("brick"))
    try context.save()
    return house
  }

  /// The values of a house's attributes.
  private func values(_ house: House) -> [String] {
    [
      house.style.theme, house.crest.figure, house.plan.style.theme, house.plan.crest.figure,
      house.mood.theme,
    ]
  }

  private static let absent = ["dark", "zero", "plan", "zero", "calm"]

  @Test("If another context deletes an unread object, its attributes read as initial values or zeros")
  func deletedElsewhere() throws {
    let container = try Sandbox(House.self, Street.self, Window.self).container
    let (mine, theirs) = (container.newContext(), container.newContext())
    let house = try house(theirs)
    mine.refreshAllObjects()
    let fault = try #require(mine.object(with: house.objectID) as? House)
    theirs.delete(house.street)
    try theirs.save()
    mine.refreshAllObjects()
    #expect(values(fault) == Self.absent && fault.isDeleted)
    #expect(fault.owner.uri != house.objectID.uri && mine.registeredObject(for: fault.owner) == nil)
    #expect(ManagedObjectID(uri: fault.owner.uri) == fault.owner)
    #expect(throws: PerdureError.self) { try mine.existingObject(with: fault.owner) }
    #expect(fault.street.isDeleted && fault.notes.isEmpty && !mine.hasChanges)
  }

  @Test("Attributes of an unread object read as initial values or zeros after the container is closed")
  func closed() throws {
    let directory = try TemporaryDirectory()
    let container = try container(in: directory)
    let id = try house(container.newContext()).objectID
    let context = container.newContext()
    let fault = try #require(context.object(with: id) as? House)
    try container.close()
    #expect(values(fault) == Self.absent && fault.owner == ManagedObjectID.zeroValue)
  }

  @Test("Attributes with undecodable JSON read as initial values or zeros, and the stored JSON stays")
  func otherVersion() throws {
    let container = try Sandbox(House.self, Street.self, Window.self).container
    let context = container.newContext()
    let house = try house(context)
    let keys = ["style", "crest", "plan.style", "plan.crest"]
    // Not by setCheckedValue, which refuses these bytes because the type cannot decode them.
    for key in keys { house.setValue(Data([1]), forKey: key) }
    try context.save()
    let other = container.newContext()
    let same = try #require(try other.existingObject(with: house.objectID) as? House)
    #expect(values(same) == Self.absent)
    for key in keys {
      let error = #expect(throws: PerdureError.self, "\(key)") { try same.checkedValue(forKey: key) }
      #expect(error?.code == .validation && error?.details.map(\.property) == [key])
    }
    #expect(same.value(forKey: "style") == nil && same.value(forKey: "crest") == nil)
    #expect(
      same.value(forKeyPath: "style") == nil
        && same.value(forKeyPath: "street.houses.crest") as? [Crest] == [])
    #expect(throws: PerdureError.self) { try same.checkedValue(forKeyPath: "street.houses.crest") }
    #expect((same.value(forKey: "plan") as? [String: Any?])?["floors"] as? Int == 3)
    let picture = try TypedSnapshot(same)
    #expect(picture.style == Style("dark") && picture.crest == Crest.zeroValue)
    #expect(picture.plan == Plan(style: Style("plan"), crest: Crest.zeroValue, floors: 3))
    same.plan.floors = 4
    same.name = "new"
    try other.save()
    let kept = try container.newContext().existingObject(with: house.objectID).snapshot()
    #expect(keys.allSatisfy { kept[$0]?.value == .data(Data([1])) })
    #expect(kept["plan.floors"]?.value == .integer(4) && kept["name"]?.value == .string("new"))
  }

  @Test("An attribute whose value cannot be encoded reads as its initial value until the value is replaced")
  func notEncodable() throws {
    let container = try Sandbox(House.self, Street.self, Window.self).container
    let context = container.newContext()
    let house = try house(context)
    (house.style, house.plan.style, house.mood) = (Style("refused"), Style("refused"), Style("refused"))
    #expect(values(house) == ["dark", "lion", "plan", "lion", "calm"])
    #expect(Set(refusals(context)) == ["1550 style", "1550 plan.style", "1550 mood"])
    (house.style, house.plan.style, house.mood) = (Style("a"), Style("b"), Style("c"))
    #expect(refusals(context).isEmpty && values(house) == ["a", "lion", "b", "lion", "c"])
  }

  @Test("If the default of a handwritten model cannot be decoded, the class's initial value is read")
  func otherModel() throws {
    let model = try ManagedObjectModel([
      EntityDescription(
        "Sign",
        properties: [.attribute("style", .transformable, optional: false, default: .data(Data([1])))])
    ])
    let sign = Sign(context: try Sandbox(model, Sign.self).container.newContext())
    #expect(sign.style == Style("dark"))
    #expect(throws: PerdureError.self) { try sign.checkedValue(forKey: "style") }
  }

  @Test("In a typed snapshot, the removed target of a required relationship has initial values or zeros")
  func snapshotOfTarget() throws {
    let container = try Sandbox(House.self, Street.self, Window.self).container
    let (mine, theirs) = (container.newContext(), container.newContext())
    let house = try house(mine)
    let window = Window(context: mine)
    window.house = house
    theirs.refreshAllObjects()
    theirs.delete(try theirs.existingObject(with: house.street.objectID))
    try theirs.save()
    mine.refreshAllObjects()
    #expect(window.house.isDeleted)
    let picture = try TypedSnapshot(window, including: ["house.street", "house.windows"])
    let target = picture.house
    #expect(target.name.isEmpty && target.style == Style("dark") && target.crest == Crest.zeroValue)
    #expect(target.plan.floors == 0 && target.plan.style == Style("plan") && target.notes.isEmpty)
    #expect(target.windows.isEmpty && target.street.name.isEmpty && target.street.houses.isEmpty)
    let text = try JSONEncoder().encode(picture.contents)
    let decoded = TypedSnapshot<Window>(try JSONDecoder().decode(ObjectSnapshot.self, from: text))
    #expect(decoded.house.street.name.isEmpty && decoded == picture)
  }

  @Test("Describing a required attribute without a zero value and without an initial value stops the program")
  func declared() async {
    await #expect(processExitsWith: .failure) { _ = EntityDescription(from: Bare.self) }
    await #expect(processExitsWith: .failure) { _ = EntityDescription(from: Framed.self) }
    await #expect(processExitsWith: .failure) { _ = EntityDescription(from: BareTransient.self) }
    await #expect(processExitsWith: .success) { _ = EntityDescription(from: House.self) }
  }
}
