import FoundationEssentials
import Perdure
import Testing

private enum Grade: Int16, AttributeValue, CaseIterable { case low, high }

@Entity private class Clerk: ManagedObject {
  var name: String?
  var wage: Double = 0
  var born: Date?
  @Attribute(.indexed) var grade: Grade = .low
  var data: Data?
  @Relationship(inverse: "clerks") var office: Bureau?

  @FetchTemplate("wage > $least AND name IN $names AND born < $day AND grade == $grade")
  static func fit(least: Int, _ names: Set<String>, before day: Date?, grade: Grade) -> FetchRequest<Clerk>

  @FetchTemplate("office == $office AND SELF IN $list AND wage BETWEEN $range AND $part IN name")
  static func more(
    office: Bureau?, list: [Clerk], range: ClosedRange<Float> = 0...1, part: String
  ) -> FetchRequest<Clerk>

  @FetchTemplate("name == $name") static func named(_ name: String?) -> FetchRequest<Clerk>

  @FetchTemplate("office == $id AND name == $text AND wage == $any")
  static func loose(id: ManagedObjectID, text: Substring, any: Decimal) -> FetchRequest<Clerk>
}

@Entity private final class Bureau: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "office") var clerks: ToMany<Clerk>
}

@Entity private final class Misfit: ManagedObject {
  var wage: Double = 0
  @Relationship var next: Misfit?

  @FetchTemplate("wage > $least AND next == $other")
  static func wrong(least: String, other: Bureau) -> FetchRequest<Misfit>

  @FetchTemplate("wage IN $wages AND next IN $list")
  static func lists(_ wages: Double, list: [String]) -> FetchRequest<Misfit>
}

@Suite("Types of the parameters of fetch request templates")
struct TemplateParameterTests {
  @Test("Types whose values can equal the operand are accepted, and the requests run")
  func accepted() throws {
    let context = try Sandbox(Clerk.self, Bureau.self).container.newContext()
    let bureau = Bureau(context: context, name: "A")
    let clerk = Clerk(
      context: context, name: "Ada", wage: 1, born: .distantPast, grade: .high, office: bureau)
    try context.save()
    #expect(try context.fetch(Clerk.fit(least: 0, ["Ada"], before: Date(), grade: .high)) == [clerk])
    let more = Clerk.more(office: bureau, list: [clerk], range: 0...1, part: "Ad")
    #expect(try context.fetch(more) == [clerk])
    #expect(try context.fetch(Clerk.loose(id: bureau.objectID, text: "Ada", any: 1)) == [clerk])
  }

  @Test("Nil for an optional parameter finds the objects without a value")
  func absent() throws {
    let context = try Sandbox(Clerk.self, Bureau.self).container.newContext()
    let clerks = ["Ada", nil].map { Clerk(context: context, name: $0) }
    try context.save()
    #expect(try context.fetch(Clerk.named(nil)) == [clerks[1]])
    #expect(try context.fetch(Clerk.named("Ada")) == [clerks[0]])
    #expect(try context.fetch(Clerk.named("Bob")) == [])
  }

  @Test("A container refuses parameters of other types when it loads its stores, and names them")
  func refused() throws {
    let error = #expect(throws: PerdureError.self) { try Sandbox(Misfit.self, Clerk.self, Bureau.self) }
    #expect(error?.code == .openFailed)
    let expected = [
      "Misfit.wrong has the parameter least of the type String, but its predicate compares $least as a double. "
        + "Change the type of the parameter, or the predicate.",
      "Misfit.wrong has the parameter other of the type Bureau, but its predicate compares $other as a Misfit.",
      "Misfit.lists has the parameter list of the type Array<String>, but its predicate compares $list as a list "
        + "of Misfit.",
      "Misfit.lists has the parameter wages of the type Double, but its predicate compares $wages as a list of "
        + "double.",
    ]
    for message in expected { #expect(error?.message.contains(message) == true, "\(error?.message ?? "")") }
  }
}
