import PerdureLog
import PerdureModel
import PerdurePredicates
import Testing

@testable import Perdure

/// Expects that a container's stored graph is intact. Verification of engine and graph finds
/// nothing, both ends of every relationship agree, and no reference leads to an absent object.
func expectWhole(
  _ container: PersistentContainer, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let context = container.newContext()
  let core = context.core
  if let store = core.store as? LogPersistentStore {
    let report = try store.store.verify()
    #expect(report.isClean, "\(report.findings)", sourceLocation: sourceLocation)
  }
  let graph = GraphVerification(core.viewState.view, container.managedObjectModel).run()
  #expect(graph.isClean, "\(graph.findings)", sourceLocation: sourceLocation)
  try expectAgreement(context, container.managedObjectModel, sourceLocation: sourceLocation)
}

/// Expects that in a context both ends of every relationship agree, unsaved changes included.
///
/// References left by the delete rule `.noAction` are not checked. The target of a one-way
/// reference must not be deleted.
func expectAgreement(
  _ context: ManagedObjectContext, _ model: ManagedObjectModel,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let found = try disagreements(context, model)
  #expect(found.isEmpty, "\(found.joined(separator: "\n"))", sourceLocation: sourceLocation)
}

/// Returns the relationships whose ends do not agree.
func disagreements(_ context: ManagedObjectContext, _ model: ManagedObjectModel) throws -> [String] {
  try expectLayer(context)
  var found: [String] = []
  for entity in model.schemas where !entity.isAbstract {
    var request = FetchRequest<ManagedObject>(entityName: entity.name)
    request.includesSubentities = false
    for object in try context.fetch(request) {
      for property in entity.properties where property.isRelationship {
        for target in objects(object.value(forKey: property.name)) {
          found += disagreement(object, property, target, model).map { [$0] } ?? []
        }
      }
    }
  }
  return found
}

/// Returns the changed objects that have no row in the view and are not known to have vanished (CX5
/// in LinkEditor.swift).
func missedVanished(_ context: ManagedObjectContext) throws -> [ObjectReference] {
  let core = context.core
  return try core.pending.all.filter { !$0.isNew && !$0.isDeleted }.map(\.reference)
    .filter { try core.viewState.view.version(of: $0) == nil && !core.viewState.hasVanished($0) }
}

/// Returns why the relationship of an object must not lead to a target, or nil if it may.
private func disagreement(
  _ object: ManagedObject, _ property: PropertySchema, _ target: ManagedObject, _ model: ManagedObjectModel
) -> String? {
  guard let inverse = property.inverse else {
    return target.isDeleted ? "\(object).\(property.name) leads to \(target), which is deleted" : nil
  }
  let back = model.schemas[inverse.entity].properties[inverse.slot]
  if target.isDeleted, back.deleteRule == .noAction { return nil }
  if objects(target.value(forKey: back.name)).contains(object) { return nil }
  return "\(object).\(property.name) has \(target), whose \(back.name) does not have it"
}

private func objects(_ value: Any?) -> [ManagedObject] {
  if let objects = value as? Set<ManagedObject> { return Array(objects) }
  if let objects = value as? [ManagedObject] { return objects }
  return (value as? ManagedObject).map { [$0] } ?? []
}
