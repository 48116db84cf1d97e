import Foundation
import PerdureModel
import PerdureModelFiles
import PerdurePredicates
import Testing

@Suite("Models read from files")
struct ModelReadingTests {
  /// A file with every part of the format.
  private static let everything = """
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="v2">
        <entity name="Author" representedClassName=".Writer" elementID="Person" versionHashModifier="m" syncable="YES" codeGenerationType="class">
            <attribute name="age" attributeType="Integer 16" minValueString="0" maxValueString="150" defaultValueString="18" usesScalarValueType="YES"/>
            <attribute name="articleCount" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="articles.@count" usesScalarValueType="NO"/>
            <attribute name="born" optional="YES" attributeType="Date" minDateTimeInterval="-3000000000" defaultDateTimeInterval="631123200.5" usesScalarValueType="NO"/>
            <attribute name="face" optional="YES" attributeType="Transformable" valueTransformerName="Faces" customClassName="UIImage"/>
            <attribute name="home" attributeType="Composite" composite="Address" elementID="address"/>
            <attribute name="id" attributeType="UUID" usesScalarValueType="NO">
                <userInfo>
                    <entry key="k" value="v"/>
                    <entry key="perdure.default" value="newUUID"/>
                </userInfo>
            </attribute>
            <attribute name="mood" optional="YES" transient="YES"/>
            <attribute name="name" attributeType="String" minValueString="1" maxValueString="64" regularExpressionString="[A-Z].*" defaultValueString="Anon"/>
            <relationship name="articles" optional="YES" toMany="YES" minCount="1" maxCount="9" deletionRule="Cascade" ordered="YES" destinationEntity="Article" inverseName="author" inverseEntity="Article"/>
            <fetchedProperty name="namesakes" optional="YES">
                <fetchRequest name="fetchedPropertyFetchRequest" entity="Author" predicateString="name == $FETCH_SOURCE.name" perdure.sortDescriptors="name descending,age"/>
                <userInfo><entry key="u" value="1"/></userInfo>
            </fetchedProperty>
            <fetchIndex name="byName" partialIndexPredicate="age &gt; 5">
                <fetchIndexElement expression="canonical:(name)" expressionType="String" type="Binary" order="ascending"/>
                <fetchIndexElement property="born" type="Binary" order="descending"/>
            </fetchIndex>
            <uniquenessConstraints>
                <uniquenessConstraint>
                    <constraint value="name"/>
                    <constraint value="born"/>
                </uniquenessConstraint>
            </uniquenessConstraints>
            <userInfo>
                <entry key="a" value="&quot;b&quot;"/>
            </userInfo>
        </entity>
        <entity name="Article" isAbstract="YES" syncable="YES">
            <attribute name="price" attributeType="Decimal" defaultValueString="12.50" indexed="YES"/>
            <attribute name="seen" attributeType="Boolean" defaultValueString="YES"/>
            <attribute name="weight" optional="YES" attributeType="Float" defaultValueString="0.1"/>
            <relationship name="author" maxCount="1" deletionRule="Nullify" destinationEntity="Author" inverseName="articles" inverseEntity="Author"/>
            <compoundIndexes>
                <compoundIndex><index value="price"/><index value="seen"/></compoundIndex>
            </compoundIndexes>
        </entity>
        <entity name="Novel" representedClassName="Books.Novel" parentEntity="Article" syncable="YES">
            <attribute name="text" optional="YES" attributeType="String">
                <userInfo>
                    <entry key="perdure.message.1" value="must be even"/>
                    <entry key="perdure.predicate.1" value="length:(SELF) &lt; 9"/>
                </userInfo>
            </attribute>
        </entity>
        <fetchRequest name="rich" entity="Author" predicateString="age &gt; $least" fetchLimit="5" fetchBatchSize="20" resultType="2" includesSubentities="NO" includePropertyValues="NO" includesPendingChanges="YES" returnObjectsAsFaults="NO" returnDistinctResults="YES"/>
        <configuration name="Cloud"><memberEntity name="Author"/></configuration>
        <composite name="Address">
            <attribute name="street" attributeType="String"/>
            <attribute name="spot" optional="YES" attributeType="Composite" composite="Spot"/>
        </composite>
        <composite name="Spot"><attribute name="x" optional="YES" attributeType="Double"/></composite>
        <elements><element name="Author" positionX="0" positionY="0" width="128" height="90.5"/></elements>
    </model>
    """

  private static var author: EntityDescription {
    let home = CompositeAttributeDescription(
      "home", [.string("street", optional: false), .composite("spot", [.double("x")])], isOptional: false,
      renamingIdentifier: "address")
    return EntityDescription(
      "Author", className: ".Writer",
      properties: [
        .int16("age", optional: false, default: 18, rules: [.minimum(0), .maximum(150)]),
        .derived("articleCount", "articles.@count", optional: true),
        .date(
          "born", default: .date(Date(timeIntervalSinceReferenceDate: 631_123_200.5)),
          rules: [.minimum(.date(Date(timeIntervalSinceReferenceDate: -3_000_000_000)))]),
        .attribute(AttributeDescription("face", .transformable, valueTransformerName: "Faces")),
        .composite(home),
        .attribute(
          AttributeDescription("id", .uuid, isOptional: false, defaultValue: .newUUID, userInfo: ["k": "v"])),
        .transient("mood"),
        .string(
          "name", optional: false, default: "Anon",
          rules: [.minimumLength(1), .maximumLength(64), .pattern("[A-Z].*")]),
        .toMany(
          "articles", "Article", inverse: "author", minCount: 1, maxCount: 9, deleteRule: .cascade,
          ordered: true),
      ],
      fetchedProperties: [
        FetchedPropertyDescription(
          "namesakes", "Author", "name == $FETCH_SOURCE.name",
          sortDescriptors: [FetchOrder("name", ascending: false), FetchOrder("age")], userInfo: ["u": "1"])
      ],
      indexes: [
        FetchIndexDescription("byName", ["canonical:(name)", .descending("born")], where: "age > 5")
      ],
      uniquenessConstraints: [["name", "born"]], renamingIdentifier: "Person", userInfo: ["a": "\"b\""],
      versionHashModifier: "m")
  }

  private static func others() throws -> [EntityDescription] {
    let text = ValidationRule.predicate(
      try FetchPredicate(format: "length:(SELF) < 9"), message: "must be even")
    return [
      EntityDescription(
        "Article", isAbstract: true, className: "ManagedObject",
        properties: [
          .decimal("price", optional: false, default: .decimal(Decimal(string: "12.5") ?? 0)),
          .boolean("seen", optional: false, default: true),
          .float("weight", default: .double(Double(Float(0.1)))),
          .toOne("author", "Author", inverse: "articles", optional: false),
        ], indexes: [FetchIndexDescription(on: "price"), FetchIndexDescription(on: "price", "seen")]),
      EntityDescription(
        "Novel", superentity: "Article", className: "Books.Novel",
        properties: [.string("text", rules: [text])]),
    ]
  }

  @Test("Every part of a file is read as the same description as in code")
  func everything() throws {
    let document = try ModelDocument(Array(Self.everything.utf8), file: "contents")
    let errors = document.problems().filter { $0.severity == .error }
    #expect(errors == [])
    let model = try document.managedObjectModel()
    #expect(model.entities == [Self.author] + (try Self.others()))
    var rich = FetchRequestTemplate("rich", "Author", "age > $least", fetchLimit: 5)
    rich.request.fetchBatchSize = 20
    rich.request.resultType = .dictionaries
    rich.request.includesSubentities = false
    rich.request.includesPropertyValues = false
    rich.request.returnsObjectsAsFaults = false
    rich.request.returnsDistinctResults = true
    #expect(model.fetchRequestTemplates == [rich])
    #expect(model.versionIdentifiers == ["v2"] && model.configurations == ["Cloud"])
    #expect(model.entities(forConfigurationName: "Cloud")?.map(\.name) == ["Author"])
  }

  @Test("If a superentity has an index of the same name, the entity's name is added to the index's name")
  func repeatedIndexNames() throws {
    let index = "<fetchIndex name='by'><fetchIndexElement property='a'/></fetchIndex>"
    let text = """
      <model><entity name='A'><attribute name='a' attributeType='String'/>\(index)</entity>
      <entity name='B' parentEntity='A'>\(index)</entity></model>
      """
    let model = try ModelDocument(Array(text.utf8), file: "contents").managedObjectModel()
    #expect(model.entities.flatMap(\.indexes).map(\.name) == ["by", "by_B"])
  }

  @Test("A stored transformable attribute without a transformer gets the transformer of secure archives")
  func secureArchives() throws {
    let text = """
      <model><entity name="Page">\
      <attribute name="colour" optional="YES" attributeType="Transformable"/>\
      <attribute name="marks" optional="YES" attributeType="Transformable" valueTransformerName=""/>\
      <attribute name="view" optional="YES" transient="YES" attributeType="Transformable"/>\
      </entity></model>
      """
    var document = try ModelDocument(Array(text.utf8), file: "contents")
    let model = try document.managedObjectModel()
    let name = AttributeDescription.secureArchiveTransformerName
    let attributes = model.entitiesByName["Page"]?.attributes ?? []
    #expect(attributes.map(\.valueTransformerName) == [name, name, nil])
    #expect(document.problems().map(\.kind) == [.transformer, .transformer])
    try document.update(to: model)
    #expect(try document.bytes() == Array(text.utf8))
    let written = try ModelDocument(model).managedObjectModel()
    #expect(written.entitiesByName["Page"]?.attributes == attributes)
  }

  @Test("An attribute without a transformer has no transformer after it is written to a file and read")
  func noTransformer() throws {
    let model = try ManagedObjectModel([
      EntityDescription("Page", properties: [.attribute("bytes", .transformable)])
    ])
    let document = try ModelDocument(model)
    #expect(document.problems() == [])
    let written = try document.managedObjectModel()
    #expect(written.entitiesByName["Page"]?.attributes == model.entitiesByName["Page"]?.attributes)
  }

  @Test("A derived attribute with now() is read, and is written with the same bytes")
  func saveTime() throws {
    let text = """
      <model><entity name="Page"><attribute name="edited" optional="YES" attributeType="Date" derived="YES" \
      derivationExpression="now()" usesScalarValueType="NO"/></entity></model>
      """
    var document = try ModelDocument(Array(text.utf8), file: "contents")
    let model = try document.managedObjectModel()
    #expect(model.entitiesByName["Page"]?.attributes.map(\.derivation) == ["now()"])
    try document.update(to: model)
    #expect(try document.bytes() == Array(text.utf8))
    let written = try ModelDocument(model).managedObjectModel()
    #expect(written.entitiesByName["Page"]?.attributes == model.entitiesByName["Page"]?.attributes)
  }

  @Test(
    "Model files of public projects are read as models, or cause errors at known lines",
    arguments: Corpus.files)
  func corpus(_ path: String) throws {
    let document = try ModelDocument(Corpus.bytes(of: path), file: path)
    let problems = document.problems()
    let errors = problems.filter { $0.severity == .error }.compactMap(\.line)
    // Models for tests of other programs, with an empty composite and with texts that are not
    // predicates.
    let known = ["phimage__MomXML__Model.xml": [36], "phimage__MomXML__model.xml": [45, 48]]
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    #expect(errors == known[name] ?? [], "\(problems)")
    #expect(problems.allSatisfy { $0.line != nil && $0.kind != .unknownContent }, "\(problems)")
    #expect((try? document.managedObjectModel()) == nil || errors.isEmpty)
  }
}
