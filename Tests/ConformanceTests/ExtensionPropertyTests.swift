import Perdure
import Testing

// Classes whose properties are in extensions in the file ExtensionProperties.swift, as in generated
// code.

@Entity(propertiesInExtension: true) class Patron: ManagedObject {}

@Entity("Member", propertiesInExtension: true) final class ClubMember: Patron {
  var number: Int64 = 7
  @Attribute(.composite) var badge: ClubBadge?
  @Relationship(inverse: "host") var guests: OrderedToMany<ClubGuest>

  func validateNickname(_ value: inout Any?) throws {
    if value as? String == "none" { throw PerdureError.invalid(self, "nickname", "must be a name") }
  }
}

@Entity final class ClubGuest: Patron {
  var visits: Int64 = 1
  @Relationship(inverse: "friends") var friend: ClubMember?
  @Relationship(inverse: "guests") var host: ClubMember?
}

@Suite("Properties in an extension of a class")
struct ExtensionPropertyTests {
  private func context() throws -> ManagedObjectContext {
    try Sandbox(Patron.self, ClubMember.self, ClubGuest.self).container.newContext()
  }

  @Test("The entity has the properties of the body, and then those of the extension")
  func description() {
    let names = { (type: ManagedObject.Type) in EntityDescription(from: type).properties.map(\.name) }
    #expect(names(Patron.self) == ["login", "credits", "seat"])
    #expect(names(ClubMember.self) == ["number", "badge", "guests", "nickname", "friends", "kept"])
    #expect(names(ClubGuest.self) == ["visits", "friend", "host"])
    #expect(EntityDescription(from: ClubMember.self).fetchedProperties.map(\.name) == ["patrons"])
    #expect(EntityDescription(from: Patron.self).uniquenessConstraints == [["login"]])
  }

  @Test("Variables in the body, in the extension and in superclasses have their own values")
  func values() throws {
    let context = try context()
    let member = ClubMember(context: context, number: 3)
    (member.login, member.credits, member.nickname, member.kept) = ("ada", 5, "Ada", 2.5)
    (member.badge, member.seat) = (ClubBadge(text: "A"), ClubBadge(text: "B"))
    let guest = ClubGuest(context: context, visits: 9)
    (guest.login, guest.host) = ("bob", member)
    member.addToFriends([guest])
    try context.save()
    #expect(member.kept == 2.5)
    context.reset()
    let found = try #require(try context.fetch(ClubMember.fetchRequest { $0.nickname == "Ada" }).first)
    #expect(found.number == 3 && found.login == "ada" && found.credits == 5 && found.kept == nil)
    #expect(found.badge?.text == "A" && found.seat?.text == "B")
    #expect(found.guests.map(\.visits) == [9] && found.friends.first === found.guests.first)
    #expect(found.friends.first?.friend === found && found.patrons.count == 2)
    #expect(found.value(forKey: "nickname") as? String == "Ada")
  }

  @Test("Typed conditions and key paths find properties in an extension from subclasses too")
  func conditions() throws {
    let context = try context()
    let member = ClubMember(context: context)
    (member.login, member.credits) = ("ada", 5)
    #expect(try context.fetch(ClubMember.fetchRequest { $0.login == "ada" && $0.credits > 4 }) == [member])
    #expect(try context.fetch(Patron.fetchRequest { $0.login == "ada" }) == [member])
  }

  @Test("Rules, defaults and validations apply to properties in an extension")
  func rules() throws {
    let context = try context()
    let member = ClubMember(context: context)
    #expect(member.credits == 1)
    (member.nickname, member.credits) = ("none", 11)
    #expect(refusals(context).sorted() == ["1550 nickname", "1610 credits"])
  }
}
