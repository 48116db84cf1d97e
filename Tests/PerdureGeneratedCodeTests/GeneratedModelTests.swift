import GeneratedCodeModels
import Perdure
import PerdureModelCode
import Testing

@Suite("Generated models")
struct GeneratedModelTests {
  @Test("Generated accessors and their model describe the same entities as the source")
  func accessors() throws {
    try compare(LibraryModel.managedObjectModel(), LibraryModelSource.model()) { $0 }
    for type in LibraryModel.classes where type != Note.self {
      #expect(type._entityName == type.entityDescription.name)
      #expect(type.entityDescription == (try LibraryModelSource.model()).entitiesByName[type._entityName])
    }
  }

  @Test("Generated macros describe the same entities as the source")
  func macros() throws {
    try compare(StudioModel.managedObjectModel(), StudioModelSource.model()) { $0 }
  }

  private func compare(
    _ generated: ManagedObjectModel, _ source: ManagedObjectModel,
    _ change: (EntityDescription) -> EntityDescription
  ) throws {
    for entity in source.entities { #expect(generated.entitiesByName[entity.name] == entity) }
    #expect(generated.entities.count == source.entities.count)
    #expect(generated.versionHash == source.versionHash)
    #expect(generated.versionIdentifiers == source.versionIdentifiers)
    #expect(generated.configurations == source.configurations)
    for name in source.configurations {
      #expect(
        generated.entities(forConfigurationName: name).map { Set($0.map(\.name)) }
          == source.entities(forConfigurationName: name).map { Set($0.map(\.name)) })
    }
    let byName = { (model: ManagedObjectModel) in model.fetchRequestTemplates.sorted { $0.name < $1.name } }
    #expect(byName(generated) == byName(source))
  }
}
