import Perdure
import Testing

// The model, accessed through objects and contexts.

@Entity(isAbstract: true) private class Item: ManagedObject {
  var title: String = ""
}

@Entity private class Book: Item {
  var pages: Int = 0
  @Attribute(.composite) var place: Shelf?
  @Relationship(inverse: "books") var author: Author?
}

@Entity private final class Atlas: Book {
  var scale: Int = 1
}

@Entity private final class Author: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "author") var books: ToMany<Book>
}

@Composite private struct Shelf: Equatable {
  var room: String?
  var board: Int?
}

@Suite("The model, accessed by objects and contexts")
struct EntityOfObjectTests {
  private func context() throws -> ManagedObjectContext {
    try Sandbox(Item.self, Book.self, Atlas.self, Author.self).container.newContext()
  }

  @Test("The entity of an object has all properties, including inherited properties")
  func properties() throws {
    let entity = Atlas(context: try context()).entity
    #expect(Set(entity.attributesByName.keys) == ["title", "pages", "scale"])
    #expect(Set(entity.relationshipsByName.keys) == ["author"])
    #expect(Set(entity.compositesByName.keys) == ["place"])
    #expect(Set(entity.propertiesByName.keys) == ["title", "pages", "scale", "author", "place"])
    #expect(entity.attributesByName["title"]?.type == .string)
    #expect(entity.relationshipsByName["author"]?.inverseName == "books")
    #expect(entity.properties.map(\.name) == ["scale"])
  }

  @Test("A program can copy an object by the property names of its entity")
  func copying() throws {
    let context = try context()
    let atlas = Atlas(context: context)
    (atlas.title, atlas.pages, atlas.scale) = ("World", 300, 50)
    atlas.place = Shelf(room: "A", board: 2)
    atlas.author = Author(context: context)
    let copy = context.insertNewObject(forEntityName: atlas.entity.name)
    for name in atlas.entity.propertiesByName.keys { copy[name] = atlas[name] }
    let twin = try #require(copy as? Atlas)
    #expect(twin.title == "World" && twin.pages == 300 && twin.scale == 50)
    #expect(twin.place == Shelf(room: "A", board: 2) && twin.author === atlas.author)
  }

  @Test("An entity has its superentity and subentities, and a context has its model")
  func neighbours() throws {
    let context = try context()
    let entity = Book(context: context).entity
    #expect(entity.superentity?.name == "Item" && entity.superentity?.superentity == nil)
    #expect(entity.subentities.map(\.name) == ["Atlas"])
    #expect(entity.superentity?.subentitiesByName["Book"]?.subentities.map(\.name) == ["Atlas"])
    let model = context.managedObjectModel
    let atlas = try #require(model.entitiesByName["Atlas"])
    #expect(model.entities.count == 4 && atlas.isKind(of: entity) && !entity.isKind(of: atlas))
    #expect(Set(atlas.attributesByName.keys) == ["title", "pages", "scale"])
    let child = context.newChildContext()
    #expect(child.managedObjectModel === model)
  }
}
