import Foundation
import Perdure
import PerdureModelFiles
import Testing

@Suite("Numbers with the default 0 in a model file")
struct UnsetNumberTests {
  private static let types = [
    "Integer 16", "Integer 32", "Integer 64", "Double", "Float", "Decimal", "Boolean",
  ]

  /// A file as Xcode writes it: a new number attribute is not optional and has the default 0.
  private static func file(_ defaults: (String) -> String) -> String {
    let attributes = types.enumerated().map { number, type in
      "<attribute name='a\(number)' attributeType='\(type)' \(defaults(type)) usesScalarValueType='YES'/>"
    }
    return """
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
          <entity name="Sheet" syncable="YES">
              \(attributes.joined(separator: "\n        "))
          </entity>
      </model>
      """
  }

  private func container(_ file: String) throws -> PersistentContainer {
    let model = try ModelDocument(Array(file.utf8), file: "contents").managedObjectModel()
    let container = PersistentContainer(name: "Sheets", model: model, classes: [], description: .inMemory)
    try container.loadPersistentStores()
    return container
  }

  @Test("If the numbers of an object were never set, it is saved, and another context reads 0")
  func zero() throws {
    let container = try container(
      Self.file { "defaultValueString='\($0 == "Boolean" ? "NO" : $0.hasPrefix("Integer") ? "0" : "0.0")'" })
    let context = container.newContext()
    let new = context.insertNewObject(forEntityName: "Sheet")
    func check(_ sheet: ManagedObject) {
      let values = Self.types.indices.map { sheet.value(forKey: "a\($0)") }
      #expect(values[0] as? Int16 == 0 && values[1] as? Int32 == 0 && values[2] as? Int == 0)
      #expect(values[3] as? Double == 0 && values[4] as? Float == 0 && values[5] as? Decimal == 0)
      #expect(values[6] as? Bool == false)
    }
    check(new)
    try context.save()
    check(try container.newContext().existingObject(with: new.objectID))
  }

  @Test("Without a default in the file, a save requires every number")
  func required() throws {
    let context = try container(Self.file { _ in "" }).newContext()
    _ = context.insertNewObject(forEntityName: "Sheet")
    let error = #expect(throws: PerdureError.self) { try context.save() }
    #expect(error?.details.map(\.code.rawValue) == Self.types.map { _ in 1570 })
    #expect(error?.details.map(\.property) == Self.types.indices.map { "a\($0)" })
  }
}
