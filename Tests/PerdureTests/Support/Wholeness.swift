import PerdureLog
import PerdureModel
import Testing

@testable import Perdure

/// Expects that what a container has stored is whole: engine and graph verify clean, both ends of every
/// relationship agree, and nothing leads to what is not there.
func expectWhole(
  _ container: PersistentContainer, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let context = container.newContext()
  let core = context.core
  if let store = core.store as? LogPersistentStore {
    let report = try store.store.verify()
    #expect(report.isClean, "\(report.findings)", sourceLocation: sourceLocation)
  }
  let graph = GraphVerification(core.view, core.graph.store, container.managedObjectModel).run()
  #expect(graph.isClean, "\(graph.findings)", sourceLocation: sourceLocation)
  try expectAgreement(context, container.managedObjectModel, sourceLocation: sourceLocation)
}

/// Expects that in a context both ends of every relationship agree, unsaved changes included.
///
/// Not at what a rule of no action leaves behind.
func expectAgreement(
  _ context: ManagedObjectContext, _ model: ManagedObjectModel,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let found = try disagreements(context, model)
  #expect(found.isEmpty, "\(found.joined(separator: "\n"))", sourceLocation: sourceLocation)
}

/// The relationships whose ends do not agree.
func disagreements(_ context: ManagedObjectContext, _ model: ManagedObjectModel) throws -> [String] {
  var found: [String] = []
  for entity in model.schemas where !entity.isAbstract {
    var request = FetchRequest<ManagedObject>(entityName: entity.name)
    request.includesSubentities = false
    for object in try context.fetch(request) {
      for property in entity.properties {
        guard let inverse = property.inverse else { continue }
        let back = model.schemas[inverse.entity].properties[inverse.slot].name
        for target in objects(object.value(forKey: property.name)) {
          if objects(target.value(forKey: back)).contains(object) { continue }
          found.append("\(object).\(property.name) has \(target), whose \(back) does not have it")
        }
      }
    }
  }
  return found
}

private func objects(_ value: Any?) -> [ManagedObject] {
  if let objects = value as? Set<ManagedObject> { return Array(objects) }
  return (value as? ManagedObject).map { [$0] } ?? []
}
