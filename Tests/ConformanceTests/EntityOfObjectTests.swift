import Perdure
import Testing

// What an object, and a context, say of the model.

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

@Suite("What objects and contexts say of the model")
struct EntityOfObjectTests {
  private func context() throws -> ManagedObjectContext {
    try Sandbox(Item.self, Book.self, Atlas.self, Author.self).container.newContext()
  }

  @Test("The properties of an object's entity are all of its properties, inherited ones included")
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

  @Test("An object is copied by the names that its entity has, as programs do")
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

  @Test("An entity leads to those above and below it, and a context to its model")
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
    let child = try context.newChildContext()
    #expect(child.managedObjectModel === model)
  }
}
