import PerdureModel
import PerdurePredicates
import PerdureTestSupport
import Testing

@testable import PerdureModelFiles

@Suite("Models written to files")
struct ModelWritingTests {
  private static let model = Result {
    try ManagedObjectModel(
      [
        EntityDescription(
          "Worker", superentity: "Person",
          properties: [
            .toOne("company", "Company", inverse: "workers", optional: false),
            .date("born", default: .now), .int16("age", optional: false, default: 1, rules: [.minimum(0)]),
            .composite("home", [.string("street"), .string("city")]),
          ], indexes: [["age", .descending("canonical:(name)")]]),
        EntityDescription(
          "Company", properties: [.toMany("workers", "Worker", inverse: "company", deleteRule: .cascade)],
          userInfo: ["b": "2", "a": "1"]),
        EntityDescription(
          "Person", isAbstract: true, properties: [.string("name", optional: false)],
          uniquenessConstraints: [["name"]]),
      ], configurations: ["Main": ["Person", "Company", "Worker"]], versionIdentifiers: ["1.0"])
  }

  @Test("A new file has Xcode's order, names and indentation")
  func xcode() throws {
    let bytes = try ModelDocument(Self.model.get()).bytes()
    let expected = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22758" \
      systemVersion="23G93" minimumToolsVersion="Automatic" sourceLanguage="Swift" \
      userDefinedModelVersionIdentifier="1.0">
          <entity name="Company" representedClassName="Company" syncable="YES">
              <relationship name="workers" optional="YES" toMany="YES" deletionRule="Cascade" \
      destinationEntity="Worker" inverseName="company" inverseEntity="Worker"/>
              <userInfo>
                  <entry key="a" value="1"/>
                  <entry key="b" value="2"/>
              </userInfo>
          </entity>
          <entity name="Person" representedClassName="Person" isAbstract="YES" syncable="YES">
              <attribute name="name" attributeType="String"/>
              <uniquenessConstraints>
                  <uniquenessConstraint>
                      <constraint value="name"/>
                  </uniquenessConstraint>
              </uniquenessConstraints>
          </entity>
          <entity name="Worker" representedClassName="Worker" parentEntity="Person" syncable="YES">
              <attribute name="age" attributeType="Integer 16" minValueString="0" defaultValueString="1" \
      usesScalarValueType="YES"/>
              <attribute name="born" optional="YES" attributeType="Date" usesScalarValueType="NO">
                  <userInfo>
                      <entry key="perdure.default" value="now"/>
                  </userInfo>
              </attribute>
              <attribute name="home" optional="YES" attributeType="Composite" composite="Home"/>
              <relationship name="company" maxCount="1" deletionRule="Nullify" destinationEntity="Company" \
      inverseName="workers" inverseEntity="Company"/>
              <fetchIndex name="by_age_canonical_name_descending">
                  <fetchIndexElement property="age" type="Binary" order="ascending"/>
                  <fetchIndexElement expression="canonical:(name)" expressionType="String" type="Binary" \
      order="descending"/>
              </fetchIndex>
          </entity>
          <configuration name="Main">
              <memberEntity name="Company"/>
              <memberEntity name="Person"/>
              <memberEntity name="Worker"/>
          </configuration>
          <composite name="Home">
              <attribute name="street" optional="YES" attributeType="String"/>
              <attribute name="city" optional="YES" attributeType="String"/>
          </composite>
      </model>
      """
    #expect(String(decoding: bytes, as: UTF8.self) == expected)
  }

  @Test("Random models are equal after they are written to files and read")
  func roundTrip() throws {
    var models = RandomModels(random: SeededGenerator.forTest("models written and read"))
    for number in 0..<LongRun.count(500) {
      let model = try models.model()
      let bytes = try ModelDocument(model).bytes()
      let again = try ModelDocument(bytes, file: "contents").managedObjectModel()
      let place: Comment = "model \(number), PERDURE_SEED=\(models.random.seed)"
      try #require(again.entities == model.entities, place)
      #expect(again.versionHash == model.versionHash, place)
      #expect(again.versionIdentifiers == model.versionIdentifiers, place)
      #expect(again.configurations == model.configurations, place)
      #expect(again.fetchRequestTemplates == model.fetchRequestTemplates, place)
      #expect(try ModelDocument(again).bytes() == bytes, place)
    }
  }

  @Test("Random model files are equal after their models were stored and decoded")
  func throughStores() throws {
    var models = RandomModels(random: SeededGenerator.forTest("model files through stores"))
    for number in 0..<LongRun.count(500) {
      let place: Comment = "model \(number), PERDURE_SEED=\(models.random.seed)"
      let bytes = try ModelDocument(models.model()).bytes()
      let model = try ModelDocument(bytes, file: "contents").managedObjectModel()
      let stored = try StoredModel.initial(for: model).encode()
      let kept = try StoredModel(decoding: stored).model
      try #require(kept.entities == model.entities, place)
      #expect(try ModelDocument(kept).bytes() == bytes, place)
      var document = try ModelDocument(bytes, file: "contents")
      try document.update(to: kept)
      #expect(try document.bytes() == bytes, place)
    }
  }

  @Test("A changed attribute of a public model changes only its line", arguments: Corpus.files)
  func oneLine(_ path: String) throws {
    let bytes = try Corpus.bytes(of: path)
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    guard let model = try? ModelDocument(bytes, file: path).managedObjectModel() else { return }
    for (index, entity) in model.entities.enumerated() {
      let attributes = entity.properties.indices.lazy.compactMap { position in
        if case .attribute(let attribute) = entity.properties[position] { (position, attribute) } else { nil }
      }
      guard let (position, found) = attributes.first else { continue }
      var attribute = found
      attribute.versionHashModifier = "changed"
      var changed = entity
      changed.properties[position] = .attribute(attribute)
      var document = try ModelDocument(bytes, file: path)
      try document.update(to: model.replacing(index, with: changed))
      let difference = try String(decoding: document.bytes(), as: UTF8.self).split(separator: "\n")
        .difference(from: lines)
      try #require(difference.removals.count == 1 && difference.insertions.count == 1)
      guard case .insert(_, let line, _)? = difference.insertions.first else { continue }
      #expect(line.contains("name=\"\(attribute.name)\"") && line.contains("\"changed\""))
    }
  }

  @Test("A document that is updated to a random model describes that model")
  func randomUpdates() throws {
    var models = RandomModels(random: SeededGenerator.forTest("updated model files"))
    for number in 0..<100 {
      let (model, other) = (try models.model(), try models.model())
      let place: Comment = "model \(number), PERDURE_SEED=\(models.random.seed)"
      var document = try ModelDocument(ModelDocument(model).bytes(), file: "contents")
      try document.update(to: other)
      let updated = try document.managedObjectModel()
      #expect(updated.versionHash == other.versionHash, place)
      #expect(updated.entities.map(\.name) == other.entities.map(\.name), place)
      #expect(updated.entities.map(\.fetchedProperties) == other.entities.map(\.fetchedProperties), place)
      #expect(updated.fetchRequestTemplates == other.fetchRequestTemplates, place)
      try document.update(to: model)
      #expect(try document.managedObjectModel().versionHash == model.versionHash, place)
    }
  }

  @Test("A model that is not changed leaves the file as it is", arguments: Corpus.files)
  func unchanged(_ path: String) throws {
    let bytes = try Corpus.bytes(of: path)
    var document = try ModelDocument(bytes, file: path)
    guard let model = try? document.managedObjectModel() else { return }
    try document.update(to: model)
    #expect(try document.bytes() == bytes)
  }

  /// A file with settings and layout that Perdure does not write.
  private static let older = """
    <model  type='x'>
      <!-- people -->
      <entity name="Person" representedClassName="NSManagedObject" syncable="YES" codeGenerationType="class">
        <attribute name="age" optional="YES" attributeType="Integer 16" defaultValueString="0.0" indexed="YES"/>
        <attribute name="name" optional="true" attributeType="String" spotlightIndexingEnabled="YES"/>
        <attribute name="spot" attributeType="Composite" composite="Place"/>
        <compoundIndexes><compoundIndex><index value="age"/><index value="name"/></compoundIndex></compoundIndexes>
        <extra/>
      </entity>
      <composite name="Place"><attribute name="y" optional="YES" attributeType="Double"/><attribute name="x" optional="YES" attributeType="Double"/></composite>
      <elements><element name="Person" positionX="1"/></elements>
    </model>

    """

  /// The lines of the file that differ after the entity is changed.
  private func difference(
    _ change: (inout EntityDescription) -> Void
  ) throws -> (removed: [String], added: [String]) {
    var document = try ModelDocument(Array(Self.older.utf8), file: "contents")
    var entity = try #require(try document.managedObjectModel().entities.first)
    change(&entity)
    let model = try ManagedObjectModel([entity])
    try document.update(to: model)
    #expect(try document.managedObjectModel().versionHash == model.versionHash)
    let lines = try String(decoding: document.bytes(), as: UTF8.self).split(separator: "\n").map(String.init)
    let changes = lines.difference(from: Self.older.split(separator: "\n").map(String.init))
    func texts(_ changes: [CollectionDifference<String>.Change]) -> [String] {
      changes.map { change in
        switch change {
        case .insert(_, let line, _), .remove(_, let line, _): line.trimmingPrefix { $0 == " " }.description
        }
      }
    }
    return (texts(changes.removals), texts(changes.insertions))
  }

  private func changing(
    _ entity: inout EntityDescription, _ name: String, _ change: (inout AttributeDescription) -> Void
  ) {
    for index in entity.properties.indices {
      guard case .attribute(var attribute) = entity.properties[index], attribute.name == name else {
        continue
      }
      change(&attribute)
      entity.properties[index] = .attribute(attribute)
    }
  }

  @Test("A changed attribute changes only its line")
  func oneAttribute() throws {
    let (removed, added) = try difference { changing(&$0, "name") { $0.isOptional = false } }
    #expect(
      removed == [
        #"<attribute name="name" optional="true" attributeType="String" spotlightIndexingEnabled="YES"/>"#
      ])
    #expect(added == [#"<attribute name="name" attributeType="String" spotlightIndexingEnabled="YES"/>"#])
  }

  @Test("A renamed attribute keeps its settings, and its indexes get names")
  func renamed() throws {
    let (_, added) = try difference { entity in
      changing(&entity, "name") { ($0.name, $0.renamingIdentifier) = ("title", "name") }
      entity.indexes[1].elements[1].propertyName = "title"
    }
    #expect(
      added == [
        #"<attribute name="age" optional="YES" attributeType="Integer 16" defaultValueString="0.0"/>"#,
        #"<attribute name="title" optional="true" attributeType="String" spotlightIndexingEnabled="YES" elementID="name"/>"#,
        #"<fetchIndex name="by_age">"#,
        #"<fetchIndexElement property="age" type="Binary" order="ascending"/>"#,
        "</fetchIndex>", #"<fetchIndex name="by_age_name">"#,
        #"<fetchIndexElement property="age" type="Binary" order="ascending"/>"#,
        #"<fetchIndexElement property="title" type="Binary" order="ascending"/>"#, "</fetchIndex>",
      ])
  }

  @Test("A new element of a composite keeps the composite's order")
  func compositeOrder() throws {
    let (removed, added) = try difference { entity in
      entity.properties[2] = .composite("spot", [.double("y"), .double("a"), .double("x")], optional: false)
    }
    #expect(removed.count == 1)
    #expect(
      added.joined() == #"""
        <composite name="Place"><attribute name="y" optional="YES" attributeType="Double"/>\#
        <attribute name="a" optional="YES" attributeType="Double" usesScalarValueType="NO"/>\#
        <attribute name="x" optional="YES" attributeType="Double"/></composite>
        """#)
  }

  @Test("Removing an entity also removes its position in the diagram")
  func removedEntity() throws {
    var document = try ModelDocument(Array(Self.older.utf8), file: "contents")
    try document.update(to: ManagedObjectModel([EntityDescription("Other", properties: [])]))
    let text = try String(decoding: document.bytes(), as: UTF8.self)
    #expect(!text.contains("Person") && text.contains("<!-- people -->") && text.contains("<elements/>"))
  }

  @Test("All parts of a model that a file cannot express are reported in one error")
  func inexpressible() throws {
    let model = try ManagedObjectModel(
      [
        EntityDescription(
          "A",
          properties: [
            .int16("a", rules: [.minimum(1), .minimum(2)]),
            .string("b", rules: [.pattern("a"), .pattern("b")]),
            .attribute(AttributeDescription("c", .string, userInfo: ["perdure.default": "now"])),
          ])
      ], versionIdentifiers: ["1", "2"])
    let error = #expect(throws: ModelFileError.self) { try ModelDocument(model) }
    #expect(error?.problems.map(\.place) == [nil, "A.a", "A.b", "A.c"])
    #expect(error?.problems.allSatisfy { $0.kind == .inexpressible } == true)
  }
}

extension ManagedObjectModel {
  /// The model with another description of an entity.
  fileprivate func replacing(_ index: Int, with entity: EntityDescription) throws -> ManagedObjectModel {
    var entities = entities
    entities[index] = entity
    let members = configurations.map { name in
      (name, (self.entities(forConfigurationName: name) ?? []).map(\.name))
    }
    return try ManagedObjectModel(
      entities, configurations: Dictionary(uniqueKeysWithValues: members),
      versionIdentifiers: versionIdentifiers, templates: fetchRequestTemplates)
  }
}
