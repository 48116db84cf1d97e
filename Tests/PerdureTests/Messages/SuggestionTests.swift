import Foundation
import Perdure
import PerdureModel
import Testing

@Suite("Suggestions in errors of requests, objects and containers")
struct SuggestionTests {
  private func fetchError<T: ManagedObject>(_ request: FetchRequest<T>) throws -> FetchError {
    let context = try Staff.context()
    return try #require(throws: FetchError.self) { try context.fetch(request) }
  }

  @Test("The error about a misspelt name in a request suggests the nearest name")
  func requests() throws {
    let predicate = try FetchPredicate(format: "company.nmae == 'x'")
    #expect(try fetchError(FetchRequest<Employee>(predicate: predicate)).suggestions == ["name"])
    let order = FetchRequest<Employee>(sortDescriptors: [FetchOrder("salry")])
    #expect(try fetchError(order).message == "Employee has no property salry. Did you mean salary?")
    var request = FetchRequest<Employee>()
    request.relationshipKeyPathsForPrefetching = ["compani"]
    #expect(try fetchError(request).suggestions == ["company"])
    let entity = FetchRequest<ManagedObject>(entityName: "Employe")
    #expect(try fetchError(entity).message == "The model has no entity Employe. Did you mean Employee?")
  }

  @Test("The error about a misspelt key at run time suggests the nearest property")
  func keys() throws {
    let worker = try Staff.context().worker("w")
    let error = #expect(throws: PerdureError.self) { try worker.setCheckedValue(1, forKey: "salery") }
    #expect(error?.message == "Employee has no property \"salery\". Did you mean salary?")
    let path = #expect(throws: PerdureError.self) {
      try worker.setCheckedValue("x", forKeyPath: "adress.street")
    }
    #expect(path?.message == "Employee has no property \"adress\". Did you mean address?")
  }

  private static let note = EntityDescription(
    "Note", properties: [.string("text"), .attribute(AttributeDescription("tone", .transformable))])

  private func openError(_ container: PersistentContainer) -> String {
    let error = #expect(throws: PerdureError.self) { try container.loadPersistentStores() }
    return error?.message ?? ""
  }

  @Test("The error about a misspelt entity, configuration or transformer suggests the nearest name")
  func containers() throws {
    let model = try ManagedObjectModel([Self.note], configurations: ["Notes": ["Note"]])
    let classes = PersistentContainer(
      name: "x", model: model, classesByEntityName: ["Noet": ManagedObject.self], description: .inMemory)
    #expect(openError(classes).hasSuffix("Did you mean Note?"))
    var description = PersistentStoreDescription.inMemory
    description.configuration = "Nots"
    let configured = PersistentContainer(name: "x", model: model, description: description)
    #expect(openError(configured).hasSuffix("Did you mean Notes?"))
    struct Tone: ValueTransformer {
      func data(from value: Any) throws -> Data { Data() }
      func value(from data: Data) throws -> Any { data }
    }
    ValueTransformers.register(Tone(), named: "SuggestedTone")
    let attribute = AttributeDescription(
      "tone", .transformable, valueTransformerName: "SugestedTone")
    let transformed = PersistentContainer(
      name: "x",
      model: try ManagedObjectModel([EntityDescription("Note", properties: [.attribute(attribute)])]),
      description: .inMemory)
    #expect(openError(transformed).hasSuffix("Did you mean SuggestedTone?"))
  }
}
