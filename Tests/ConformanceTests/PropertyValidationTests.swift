import Foundation
import Perdure
import Testing

// The properties that a save passes to a class's validation, and the validation functions of single
// properties.

private enum Colour: String, AttributeValue, CaseIterable { case red, green }

private func refusal(_ object: ManagedObject, _ key: String) -> PerdureError {
  .invalid(object, key, "is a bad word")
}

/// A class that overrides `validateValue` and lists no keys.
@Entity private class Worded: ManagedObject {
  var name: String = ""
  var other: Int?
  @Relationship(inverse: "words") var owner: Owner?
  @Attribute(derived: "owner.name") var ownerName: String?

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    if value as? String == "Bad" { throw refusal(self, key) }
    if key == "owner", value is Owner, other == 13 { throw refusal(self, key) }
    try super.validateValue(&value, forKey: key)
  }
}

/// A subclass whose own properties are validated in the same way as the inherited properties.
@Entity private final class SubWorded: Worded {
  var more: String = ""
}

/// A class that lists keys. Its subclass lists no keys.
@Entity private class Listed: ManagedObject {
  var name: String = ""
  var other: String = ""
  override class var validatedKeys: [String] { ["name"] }

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    if value as? String == "Bad" { throw refusal(self, key) }
    try super.validateValue(&value, forKey: key)
  }
}

@Entity private final class SubListed: Listed {
  var more: String = ""

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    try super.validateValue(&value, forKey: key)
  }
}

@Entity private final class Owner: ManagedObject {
  var name: String?
  @Relationship(inverse: "owner") var words: ToMany<Worded>
}

/// A class without macros.
private final class ByHand: ManagedObject {
  override class var entityDescription: EntityDescription {
    EntityDescription("ByHand", properties: [.string("name"), .int64("age")])
  }

  override func validateValue(_ value: inout Any?, forKey key: String) throws {
    if value as? String == "Bad" { throw refusal(self, key) }
    try super.validateValue(&value, forKey: key)
  }
}

/// A class with a validation function for each form of argument.
@Entity private class Checked: ManagedObject {
  @Attribute(.maximum(200)) var age: Int = 0
  var nick: String?
  var name: String = ""
  var code: String = ""
  var colour: Colour = .red
  var level: Int16?
  @Relationship(inverse: "others") var friend: Checked?
  @Relationship(inverse: "friend") var others: ToMany<Checked>

  func validateAge(_ age: Int) throws {
    if age < 18 { throw refusal(self, "age") }
  }
  func validateNick(_ nick: String?) throws {
    if nick == nil { throw refusal(self, "nick") }
  }
  func validateName(_ value: inout Any?) throws {
    if let name = value as? String { value = name.uppercased() }
  }
  func validateCode(_ code: inout String) throws { code = code.lowercased() }
  func validateColour(_ colour: Colour) throws {
    if colour == .green { throw refusal(self, "colour") }
  }
  func validateLevel(_ level: inout Int16?) throws { level = level ?? 7 }
  func validateFriend(_ friend: Checked?) throws {
    if friend === self { throw refusal(self, "friend") }
  }
  func validateOthers(_ value: Any?) throws {
    if (value as? Set<ManagedObject>)?.count ?? 0 > 1 { throw refusal(self, "others") }
  }
  /// The class has no property `nothing`.
  func validateNothing(_ text: String) throws { throw refusal(self, "nothing") }
}

@Entity private final class SubChecked: Checked {
  var extra: Int = 0
  func validateExtra(_ extra: Int) throws {
    if extra < 0 { throw refusal(self, "extra") }
  }
  /// Validates an inherited property.
  override func validateAge(_ age: Int) throws {
    if age < 21 { throw refusal(self, "age") }
  }
}

@Suite("Validation of properties by their class")
struct PropertyValidationTests {
  @Test("A save calls an overridden validateValue for all properties of the class")
  func all() throws {
    let context = try Sandbox(Worded.self, SubWorded.self, Owner.self).container.newContext()
    let word = Worded(context: context)
    word.name = "Bad"
    #expect(refusals(context) == ["1550 name"])
    word.name = "Good"
    #expect(refusals(context) == [])
    word.other = 13
    word.owner = Owner(context: context)
    #expect(refusals(context) == ["1550 owner"])
    word.owner = nil
    let sub = SubWorded(context: context)
    sub.more = "Bad"
    #expect(refusals(context) == ["1550 more"])
    sub.more = ""
    sub.name = "Bad"
    #expect(refusals(context) == ["1550 name"])
  }

  @Test(
    "A list of keys applies to its class, not to a subclass that overrides validateValue again")
  func listed() throws {
    let context = try Sandbox(Listed.self, SubListed.self).container.newContext()
    let listed = Listed(context: context)
    listed.other = "Bad"
    #expect(refusals(context) == [])
    listed.name = "Bad"
    #expect(refusals(context) == ["1550 name"])
    listed.name = ""
    let sub = SubListed(context: context)
    (sub.other, sub.more) = ("Bad", "Bad")
    #expect(refusals(context) == ["1550 other", "1550 more"])
  }

  @Test("A save calls validateValue for all properties of a class without macros")
  func byHand() throws {
    let context = try Sandbox(ByHand.self).container.newContext()
    let object = ByHand(context: context)
    object["name"] = "Bad"
    #expect(refusals(context) == ["1550 name"])
    object["name"] = nil
    #expect(refusals(context) == [])
  }

  @Test("A save calls validateAge for the attribute age, with a value of the argument's type")
  func functions() throws {
    let context = try Sandbox(Checked.self, SubChecked.self).container.newContext()
    let object = Checked(context: context)
    (object.name, object.code) = ("ada", "XY")
    #expect(refusals(context) == ["1550 age", "1550 nick"])
    (object.age, object.nick, object.colour) = (30, "a", .green)
    #expect(refusals(context) == ["1550 colour"])
    object.colour = .red
    object.friend = object
    #expect(refusals(context) == ["1550 friend"])
    object.friend = nil
    #expect(refusals(context) == [])
    #expect(object.name == "ADA" && object.code == "xy" && object.level == 7)
    // The declared rules are checked first.
    object.age = 500
    #expect(refusals(context) == ["1610 age"])
  }

  @Test("A subclass can override a validation function and add validation functions")
  func inherited() throws {
    let context = try Sandbox(Checked.self, SubChecked.self).container.newContext()
    let object = SubChecked(context: context)
    (object.nick, object.age, object.extra) = ("a", 20, -1)
    #expect(refusals(context) == ["1550 age", "1550 extra"])
    (object.age, object.extra) = (21, 0)
    #expect(refusals(context) == [])
  }

  @Test("A direct call of validateValue calls the validation function of the property")
  func oneValue() throws {
    let context = try Sandbox(Checked.self, SubChecked.self).container.newContext()
    let object = Checked(context: context)
    var age: Any? = 3
    let error = #expect(throws: PerdureError.self) { try object.validateValue(&age, forKey: "age") }
    #expect(error?.details.first?.property == "age")
    var code: Any? = "AB"
    try object.validateValue(&code, forKey: "code")
    #expect(code as? String == "ab")
  }

  @Test("An update does not validate unchanged relationships")
  func unchanged() throws {
    let container = try Sandbox(Checked.self, SubChecked.self).container
    let context = container.newContext()
    let object = Checked(context: context)
    (object.nick, object.age) = ("a", 30)
    for _ in 0..<2 {
      let other = Checked(context: context)
      (other.nick, other.age) = ("b", 30)
      object.others.insert(other)
    }
    #expect(refusals(context) == ["1550 others"])
    object.others.remove(try #require(Array(object.others).first))
    #expect(refusals(context) == [])
    object.age = 31
    #expect(refusals(context) == [])
  }
}
