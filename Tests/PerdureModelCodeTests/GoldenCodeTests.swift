import GeneratedCodeModels
import PerdureModelCode
import Testing

@Suite("Generated code")
struct GoldenCodeTests {
  @Test("The generated code that a test target compiles is up to date")
  func compiledModels() throws {
    let library = try ModelCode.file(
      of: LibraryModelSource.model(), named: LibraryModelSource.name, hints: LibraryModelSource.hints,
      options: LibraryModelSource.options)
    try Golden.check(library.text, "PerdureGeneratedCodeTests/\(library.name)")
    let studio = try ModelCode.file(
      of: StudioModelSource.model(), named: StudioModelSource.name, hints: StudioModelSource.hints,
      options: StudioModelSource.options)
    try Golden.check(studio.text, "PerdureGeneratedCodeTests/\(studio.name)")
    let depot = try ModelCode.file(
      of: DepotModelSource.model(), named: DepotModelSource.name, hints: DepotModelSource.hints,
      options: DepotModelSource.options)
    try Golden.check(depot.text, "PerdureGeneratedCodeTests/\(depot.name)")
  }

  /// The options for the small model, by the names of their golden files.
  private static let choices: [String: @Sendable (inout ModelCodeOptions) -> Void] = [
    "accessors-class": { _ in },
    "accessors-extension-package": { options in
      options.entityCode = .categoryExtension
      options.access = .package
    },
    "accessors-manual": { $0.entityCode = .manual },
    "accessors-public-module": { options in
      options.access = .public
      options.module = "Notes"
      options.imports = ["Support"]
    },
    "macros-class": { $0.style = .macros },
    "macros-class-without-names": { options in
      options.style = .macros
      options.hasNameConstants = false
    },
    "macros-manual-public": { options in
      options.style = .macros
      options.entityCode = .manual
      options.access = .public
    },
  ]

  @Test("Each set of options generates the code of its golden file", arguments: choices.keys.sorted())
  func choice(_ name: String) throws {
    var options = ModelCodeOptions()
    let choose = try #require(Self.choices[name])
    choose(&options)
    let file = try ModelCode.file(of: SmallModel.model(), named: "My Notes", options: options)
    #expect(file.name == "My Notes+Generated.swift")
    try Golden.check(file.text, "PerdureModelCodeTests/Golden/\(name).txt")
  }

  @Test("A class lists inherited properties only if its superentity has a class")
  func superentityWithoutClass() throws {
    let model = try ManagedObjectModel([
      EntityDescription("Base", className: "NSManagedObject", properties: [.string("inherited")]),
      EntityDescription("Leaf", superentity: "Base", className: "Leaf", properties: [.string("own")]),
    ])
    for (code, hasClass) in [(EntityCode.classDefinition, true), (.categoryExtension, false)] {
      var options = ModelCodeOptions()
      options.entityCode = code
      let text = try ModelCode.file(of: model, named: "Model", options: options).text
      #expect(text.contains("\\Leaf.own: "))
      #expect(text.contains("\\Leaf.inherited: ") == hasClass)
    }
  }

  @Test("The order of entities does not change the code", arguments: ModelCodeStyle.allCases)
  func order(_ style: ModelCodeStyle) throws {
    var options = ModelCodeOptions()
    options.style = style
    let model = try style == .macros ? StudioModelSource.model() : LibraryModelSource.model()
    let hints = style == .macros ? StudioModelSource.hints : LibraryModelSource.hints
    let expected = try ModelCode.file(of: model, named: "Model", hints: hints, options: options)
    for rotation in model.entities.indices {
      let entities = Array(model.entities[rotation...] + model.entities[..<rotation])
      let configurations = Dictionary(
        uniqueKeysWithValues: model.configurations.reversed().map { name in
          (name, (model.entities(forConfigurationName: name) ?? []).reversed().map(\.name))
        })
      let other = try ManagedObjectModel(
        entities.reversed(), configurations: configurations, versionIdentifiers: model.versionIdentifiers,
        templates: model.fetchRequestTemplates.reversed())
      #expect(try ModelCode.file(of: other, named: "Model", hints: hints, options: options) == expected)
    }
  }
}
