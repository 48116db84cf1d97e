import Perdure
import Testing

@EntityBase private class Filed: ManagedObject {
  @Attribute(.unique) var identifier: String = ""
  @Attribute(.indexed, .minimum(0)) var rank: Int64 = 3
  @Attribute(.composite) var place: Shelf?
  @Relationship var next: Volume?

  @Attribute var label: String? {
    get { primitiveLabel }
    set {
      willChangeValue(forKey: "label")
      primitiveLabel = newValue?.uppercased()
      didChangeValue(forKey: "label")
    }
  }

  func validateIdentifier(_ value: String) throws {
    if value == "bad" { throw PerdureError.invalid(self, "identifier", "must be good") }
  }

  override func awakeFromInsert() { rank = 4 }
  var shout: String { identifier.uppercased() }
}

@Composite private struct Shelf: Equatable {
  var row: Int64 = 0
  var column: Int64 = 0
}

@Entity private class Volume: Filed {
  var title: String = ""
}

@Entity private final class Writer: Filed {
  var name: String = ""
  @Relationship(inverse: "author") var essays: ToMany<Essay>
}

/// A base between two entities.
@EntityBase private class Dated: Volume {
  var year: Int64 = 0
}

private class Plain: Dated {}

@Entity private final class Essay: Plain {
  var words: Int64 = 0
  @Relationship(inverse: "essays") var author: Writer?
}

@Suite("Classes with @EntityBase")
struct EntityBaseTests {
  private func context() throws -> ManagedObjectContext {
    try Sandbox(Volume.self, Writer.self, Essay.self).container.newContext()
  }

  @Test("Each entity of a subclass has the properties of the base as its own")
  func descriptions() throws {
    let (volume, writer, essay) = (
      EntityDescription(from: Volume.self), EntityDescription(from: Writer.self),
      EntityDescription(from: Essay.self)
    )
    let shared = ["identifier", "rank", "place", "next", "label"]
    #expect(volume.properties.map(\.name) == shared + ["title"] && volume.superentityName == nil)
    #expect(writer.properties.map(\.name) == shared + ["name", "essays"] && writer.superentityName == nil)
    #expect(essay.properties.map(\.name) == ["year", "words", "author"] && essay.superentityName == "Volume")
    #expect(writer.uniquenessConstraints == [["identifier"]] && essay.uniquenessConstraints.isEmpty)
    #expect(volume.indexes.map(\.name) == ["by_rank"])
    #expect(Filed.entityName == "")
  }

  @Test("Variables of bases and entities have their own values, and are found in predicates")
  func values() throws {
    let context = try context()
    let (volume, writer, essay) = (
      Volume(context: context), Writer(context: context), Essay(context: context)
    )
    (volume.identifier, volume.title, volume.rank) = ("v", "V", 1)
    (writer.identifier, writer.name, writer.next) = ("w", "W", volume)
    (essay.identifier, essay.title, essay.year, essay.words) = ("e", "E", 1999, 12)
    (essay.author, essay.place) = (writer, Shelf(row: 1, column: 2))
    for object in [volume, writer, essay] as [Filed] { object.label = object.identifier }
    try context.save()
    context.reset()
    let found = try #require(
      try context.fetch(Essay.fetchRequest { $0.year == 1999 && $0.label == "E" }).first)
    #expect(found.identifier == "e" && found.title == "E" && found.words == 12 && found.shout == "E")
    #expect(found.place == Shelf(row: 1, column: 2) && found.author?.next?.title == "V" && found.rank == 4)
    #expect(try context.fetch(Volume.fetchRequest { $0.rank < 4 }).map(\.identifier) == ["v"])
    #expect(try context.fetch(Writer.fetchRequest { $0.identifier == "w" }).map(\.name) == ["W"])
    #expect(found.value(forKey: "identifier") as? String == "e")
  }

  @Test("Hooks, rules, validations and constraints of the base apply to each entity by itself")
  func rules() throws {
    let context = try context()
    let (volume, writer) = (Volume(context: context), Writer(context: context))
    (volume.identifier, writer.identifier) = ("same", "same")
    #expect(volume.rank == 4)
    try context.save()
    let essay = Essay(context: context)
    (essay.identifier, essay.rank) = ("bad", -1)
    #expect(refusals(context).sorted() == ["1550 identifier", "1620 rank"])
    (essay.identifier, essay.rank) = ("same", 1)
    #expect(throws: PerdureError.self) { try context.save() }
  }
}
