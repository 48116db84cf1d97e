import Foundation
import Perdure
import PerdureKeyedArchives
import PerdureModelFiles
import Testing

/// A class that the program passes to `register(allowing:)`. Its objects can be archived.
final class Colour: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  let name: String

  init(_ name: String) { self.name = name }

  init?(coder: NSCoder) {
    guard let name = coder.decodeObject(of: NSString.self, forKey: "name") else { return nil }
    self.name = "\(name)"
  }

  func encode(with coder: NSCoder) { coder.encode(NSString(string: name), forKey: "name") }
}

/// A class that supports archiving, but that the program does not pass to `register(allowing:)`.
final class Shade: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }

  override init() {}

  init?(coder: NSCoder) {}

  func encode(with coder: NSCoder) {}
}

/// A nested class. On some platforms, Foundation cannot archive nested classes.
enum Outer {
  final class Inner: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }

    override init() {}

    init?(coder: NSCoder) {}

    func encode(with coder: NSCoder) {}
  }
}

@Suite("Attributes without a transformer in model files", .serialized)
struct UnnamedTransformerTests {
  private let model: ManagedObjectModel

  init() throws {
    let text = """
      <model><entity name="Paper">\\
      <attribute name="colour" optional="YES" attributeType="Transformable"/>\\
      <attribute name="tags" optional="YES" attributeType="Transformable" valueTransformerName=""/>\\
      </entity></model>
      """
    model = try ModelDocument(Array(text.utf8), file: "contents").managedObjectModel()
    KeyedArchiveTransformer.register(allowing: [Colour.self])
  }

  private func context() throws -> ManagedObjectContext {
    let container = PersistentContainer(name: "Papers", model: model, description: .inMemory)
    try container.loadPersistentStores()
    return container.newContext()
  }

  @Test("Attributes without a transformer store secure archives of property lists and listed classes")
  func values() throws {
    let context = try context()
    let paper = context.insertNewObject(forEntityName: "Paper")
    paper["colour"] = Colour("green")
    paper["tags"] = ["a", "b"]
    try context.save()
    context.refreshAllObjects()
    #expect((paper["colour"] as? Colour)?.name == "green")
    #expect(paper["tags"] as? [String] == ["a", "b"])
  }

  @Test("If a class is not listed, the error of the save names the class and says where to list it")
  func refused() throws {
    let context = try context()
    let paper = context.insertNewObject(forEntityName: "Paper")
    paper["colour"] = Shade()
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.details.map(\.property) == ["colour"])
    let text = "\(String(describing: error?.details.first))"
    #expect(text.contains("A Shade cannot be archived."), "\(text)")
    #expect(text.contains("KeyedArchiveTransformer.register(allowing:)"))
  }

  @Test("If an archive has an object of a class that is not listed, the error of the read names the class")
  func foreign() throws {
    let data = try KeyedArchiveTransformer(allowing: [Shade.self]).data(from: Shade())
    let error = #expect(throws: KeyedArchiveError.self) {
      try KeyedArchiveTransformer(allowing: [Colour.self]).value(from: data)
    }
    #expect(error?.description.contains("Shade: list its class") == true)
  }

  #if !canImport(Darwin)
    @Test("Archiving an object of a nested class throws an error that explains the cause")
    func inner() {
      let transformer = KeyedArchiveTransformer(allowing: [Outer.Inner.self])
      for value in [Outer.Inner(), [Outer.Inner()]] as [Any] {
        let error = #expect(throws: KeyedArchiveError.self) { try transformer.data(from: value) }
        #expect(
          error?.description.contains("Outer.Inner cannot be archived: it is private or inside") == true)
      }
    }
  #endif
}
