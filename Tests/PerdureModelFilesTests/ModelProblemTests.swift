import PerdureModel
import PerdureModelFiles
import Testing

@Suite("Problems of model files")
struct ModelProblemTests {
  /// A body of a model, and the expected finding: its kind, severity and line. The first line of
  /// the body is line 2.
  private typealias Row = (
    body: String, kind: ModelFileProblem.Kind, severity: ModelFileProblem.Severity, line: Int
  )

  private static func entity(_ content: String, _ attributes: String = "") -> String {
    "<entity name='A' \(attributes)>\n\(content)\n</entity>"
  }

  private static func attribute(_ type: String, _ rest: String) -> String {
    entity("<attribute name='a' attributeType='\(type)' \(rest)/>")
  }

  private static let attributeRows: [Row] = [
    (entity("<attribute attributeType='String'/>"), .missing, .error, 3),
    (entity("<attribute name='a'/>"), .model(.undefinedType), .error, 3),
    (attribute("Strng", "transient='YES'"), .value, .error, 3),
    (attribute("String", "optional='MAYBE'"), .value, .error, 3),
    (attribute("Integer 16", "defaultValueString='x'"), .value, .error, 3),
    (attribute("Integer 16", "defaultValueString='32768'"), .value, .error, 3),
    (attribute("Integer 64", "defaultValueString='1e30'"), .value, .error, 3),
    (attribute("Double", "defaultValueString='0x1p3'"), .value, .error, 3),
    (attribute("Decimal", "defaultValueString='1e999999999999999999999'"), .value, .error, 3),
    (attribute("Decimal", "defaultValueString='1,5'"), .value, .error, 3),
    (attribute("Boolean", "defaultValueString='2'"), .value, .error, 3),
    (attribute("Date", "defaultDateTimeInterval='today'"), .value, .error, 3),
    (attribute("UUID", "defaultValueString='none'"), .unused, .warning, 3),
    (attribute("Integer 16", "minValueString='a'"), .value, .error, 3),
    (attribute("String", "minValueString='-1'"), .value, .error, 3),
    (attribute("Boolean", "minValueString='0'"), .unused, .warning, 3),
    (attribute("String", "minValueString='5' maxValueString='4'"), .model(.validationRule), .error, 3),
    (attribute("String", "regularExpressionString='['"), .model(.validationRule), .error, 3),
    (attribute("Transformable", ""), .transformer, .warning, 3),
    (attribute("String", "valueTransformerName='T'"), .model(.valueTransformer), .error, 3),
    (attribute("Integer 64", "optional='YES' usesScalarValueType='YES'"), .scalar, .note, 3),
    (attribute("String", "derived='YES'"), .missing, .error, 3),
    (attribute("String", "derivationExpression='b'"), .unused, .warning, 3),
    (attribute("Double", "derived='YES' derivationExpression='now()'"), .model(.derivation), .error, 3),
    (attribute("String", "derived='YES' derivationExpression='b.@count.c'"), .model(.derivation), .error, 3),
    (attribute("String", "colour='red'"), .unknownContent, .warning, 3),
    (attribute("String", "\ncolour='red'"), .unknownContent, .warning, 4),
    (attribute("String", "\nallowsCloudEncryption='YES'"), .unused, .warning, 4),
    (attribute("String", "spotlightIndexingEnabled='YES'"), .unused, .warning, 3),
    (attribute("String", "storedInTruthFile='YES'"), .unused, .warning, 3),
    (entity("<attribute name='hash' attributeType='String'/>"), .model(.reservedName), .error, 3),
    (entity("<attribute name='2a' attributeType='String'/>"), .model(.nameSyntax), .error, 3),
    (
      entity("<attribute name='a' attributeType='String'/>\n<attribute name='a' attributeType='String'/>"),
      .model(.duplicateProperty), .error, 4
    ),
    (
      entity(
        "<attribute name='a' elementID='x' attributeType='URI'/>\n<attribute name='b' elementID='x' attributeType='URI'/>"
      ), .model(.renamingClash), .error, 4
    ),
    (
      entity(
        "<attribute name='a' attributeType='String'><userInfo>\n<entry key='perdure.predicate.1' value='('/></userInfo></attribute>"
      ), .predicate, .error, 3
    ),
    (
      entity(
        "<attribute name='a' attributeType='String'><userInfo><entry key='perdure.default' value='now'/></userInfo></attribute>"
      ), .value, .error, 3
    ),
  ]

  private static func toOne(_ rest: String) -> String {
    entity("<relationship name='r' destinationEntity='A' \(rest)/>")
  }

  private static let relationshipRows: [Row] = [
    (entity("<relationship name='r' maxCount='1'/>"), .missing, .error, 3),
    (entity("<relationship name='r' destinationEntity='B'/>"), .model(.unknownDestination), .error, 3),
    (toOne("optional='YES'"), .model(.noInverse), .warning, 3),
    (toOne("inverseName='s' inverseEntity='A'"), .model(.unknownInverse), .error, 3),
    (toOne("inverseEntity='A'"), .missing, .error, 3),
    (toOne("optional='YES' inverseName='r' inverseEntity='B'"), .contradiction, .warning, 3),
    (toOne("maxCount='1' ordered='YES'"), .model(.orderedToOne), .error, 3),
    (toOne("toMany='YES' maxCount='1'"), .contradiction, .error, 3),
    (toOne("maxCount='3'"), .contradiction, .error, 3),
    (toOne("toMany='YES' minCount='4' maxCount='3'"), .model(.countRange), .error, 3),
    (toOne("toMany='YES' minCount='99999999999999999999'"), .value, .error, 3),
    (toOne("toMany='YES' minCount='99999999999'"), .model(.countRange), .error, 3),
    (toOne("deletionRule='Destroy'"), .value, .error, 3),
    (toOne("maxCount='1' inverseName='r' inverseEntity='A'"), .model(.nullifiedRequired), .warning, 3),
    (
      entity(
        "<relationship name='r' deletionRule='Cascade' destinationEntity='A' inverseName='s' inverseEntity='A'/>\n<relationship name='s' deletionRule='Cascade' destinationEntity='A' inverseName='r' inverseEntity='A'/>"
      ), .model(.cascadeCycle), .warning, 3
    ),
    (
      entity(
        "<relationship name='r' destinationEntity='A' inverseName='s' inverseEntity='A'/>\n<relationship name='s' destinationEntity='A'/>"
      ), .model(.inverseMismatch), .error, 3
    ),
  ]

  private static let text = "<attribute name='a' attributeType='String'/>"

  private static func constraint(_ value: String, _ attribute: String) -> String {
    entity(
      attribute + "<uniquenessConstraints>\n<uniquenessConstraint><constraint value='\(value)'/>"
        + "</uniquenessConstraint></uniquenessConstraints>")
  }

  private static func index(_ element: String, _ attribute: String = text, _ rest: String = "") -> String {
    entity("\(attribute)\n<fetchIndex name='i' \(rest)>\n\(element)</fetchIndex>")
  }

  private static let otherRows: [Row] = [
    ("<entity/>", .missing, .error, 2),
    ("<entity name='A'/>\n<entity name='A'/>", .model(.duplicateEntity), .error, 3),
    (entity("", "parentEntity='B'"), .model(.unknownSuperentity), .error, 2),
    (entity("", "parentEntity='A'"), .model(.superentityCycle), .error, 2),
    (entity("<attribut/>"), .unknownContent, .warning, 3),
    (entity("", "coreSpotlightDisplayNameExpression='name'"), .unused, .warning, 2),
    (toOne("spotlightIndexingEnabled='YES'"), .unused, .warning, 3),
    ("<configuration name='C' usedWithCloudKit='YES'/>", .unused, .warning, 2),
    ("<index/>", .unknownContent, .warning, 2),
    (constraint("b", text), .model(.constraintProperty), .error, 4),
    (constraint("a", "<attribute name='a' transient='YES'/>"), .model(.constraintProperty), .error, 4),
    (
      constraint("a", "<attribute name='a' attributeType='Transformable' valueTransformerName='T'/>"),
      .model(.constraintOfBytes), .warning, 4
    ),
    (index("<fetchIndexElement property='b'/>"), .model(.indexProperty), .error, 4),
    (
      index("<fetchIndexElement property='a'/>", "<attribute name='a' transient='YES'/>"),
      .model(.indexProperty), .error, 4
    ),
    (index("<fetchIndexElement/>"), .missing, .error, 5),
    (index("<fetchIndexElement expression='1'/>"), .unused, .warning, 5),
    (index("<fetchIndexElement property='a' type='RTree'/>"), .unused, .warning, 5),
    (index("<fetchIndexElement property='a' order='up'/>"), .value, .error, 5),
    (index(""), .unused, .warning, 4),
    (
      index("<fetchIndexElement property='a'/>", text, "partialIndexPredicate='('"), .model(.indexPredicate),
      .error, 4
    ),
    (
      "<configuration name='C'>\n<memberEntity name='B'/></configuration>", .model(.configuration), .error, 3
    ),
    ("<configuration/>", .missing, .error, 2),
    ("<composite name='C'/>\n<composite name='C'/>", .composite, .error, 3),
    (entity("<attribute name='a' attributeType='Composite'/>"), .missing, .error, 3),
    (entity("<attribute name='a' attributeType='Composite' composite='C'/>"), .composite, .error, 3),
    (
      "<composite name='C'>\n<attribute name='c' attributeType='Composite' composite='C'/></composite>",
      .composite, .error, 3
    ),
    (
      "<composite name='C'/>\n"
        + entity("<attribute name='a' attributeType='Composite' composite='C'/>"),
      .model(.compositeShape), .error, 4
    ),
    ("<fetchRequest name='f' entity='A'/>", .model(.fetchTemplate), .error, 2),
    ("<fetchRequest name='f'/>", .missing, .error, 2),
    (
      "<entity name='A'/>\n<fetchRequest name='f' entity='A' predicateString='a ='/>", .model(.fetchTemplate),
      .error, 3
    ),
    ("<entity name='A'/>\n<fetchRequest name='f' entity='A' resultType='5'/>", .value, .error, 3),
    (
      "<entity name='A'/>\n<fetchRequest name='f' entity='A' fetchLimit='-1'/>", .model(.fetchTemplate),
      .error, 3
    ),
    (entity("<fetchedProperty name='p'/>"), .missing, .error, 3),
    (
      entity(
        "<fetchedProperty name='p'>\n<fetchRequest name='f' entity='A' predicateString='a ='/></fetchedProperty>"
      ),
      .model(.fetchedProperty), .error, 3
    ),
    (
      entity("<userInfo><entry key='k' value='1'/>\n<entry key='k' value='2'/></userInfo>"),
      .contradiction, .warning, 4
    ),
    (entity("<userInfo>\n<entry value='1'/></userInfo>"), .missing, .error, 4),
  ]

  private static let rows = attributeRows + relationshipRows + otherRows

  @Test("Every problem has its kind, severity and line", arguments: rows.indices)
  func kinds(_ index: Int) throws {
    let row = Self.rows[index]
    let document = try ModelDocument(Array("<model>\n\(row.body)\n</model>".utf8), file: "contents")
    let problems = document.problems()
    let found = problems.first { $0.kind == row.kind }
    #expect(found?.severity == row.severity, "\(row.body)\n\(problems)")
    #expect(found?.line == row.line, "\(row.body)\n\(problems)")
    let isValid = !problems.contains { $0.severity == .error }
    #expect(((try? document.managedObjectModel()) != nil) == isValid)
  }

  @Test("All problems of a file are reported together, in the order of their lines")
  func together() throws {
    let bodies = Self.rows.map(\.body).enumerated().map { number, body in
      body.replacing("'A'", with: "'A\(number)'")
    }
    let text = "<model>\n\(bodies.joined(separator: "\n"))\n</model>"
    let document = try ModelDocument(Array(text.utf8), file: "contents")
    let error = #expect(throws: ModelFileError.self) { try document.managedObjectModel() }
    let problems = try #require(error?.problems)
    let wanted = Set(Self.rows.filter { $0.severity == .error }.map(\.kind))
    #expect(wanted.subtracting(problems.map(\.kind)) == [])
    #expect(problems == document.problems())
    #expect(problems.compactMap(\.line) == problems.compactMap(\.line).sorted())
    #expect(problems.map(\.file).allSatisfy { $0 == "contents" })
  }

  @Test("An unknown name is reported once for each kind of element")
  func once() throws {
    let text = "<model><entity name='A' x='1'/><entity name='B' x='2'><y x='3'/><y/></entity></model>"
    let document = try ModelDocument(Array(text.utf8), file: "contents")
    #expect(document.problems().map(\.kind) == [.unknownContent, .unknownContent])
    #expect(try String(decoding: document.bytes(), as: UTF8.self) == text)
  }

  @Test("Flags for CloudKit and Spotlight are kept, and each flag that is set is reported once")
  func services() throws {
    let text = """
      <model usedWithCloudKit="true">
      <entity name="A" coreSpotlightDisplayNameExpression="a">
      <attribute name="a" optional="YES" attributeType="String" allowsCloudEncryption="YES" spotlightIndexingEnabled="YES"/>
      <attribute name="b" optional="YES" attributeType="String" allowsCloudEncryption="YES" storedInTruthFile="YES"/>
      </entity>
      <configuration name="C" usedWithCloudKit="YES"><memberEntity name="A"/></configuration>
      </model>
      """
    var document = try ModelDocument(Array(text.utf8), file: "contents")
    let problems = document.problems()
    #expect(problems.allSatisfy { $0.kind == .unused && $0.severity == .warning }, "\(problems)")
    #expect(problems.map(\.line) == [1, 2, 3, 3, 4])
    var model = try document.managedObjectModel()
    try document.update(to: model)
    #expect(try String(decoding: document.bytes(), as: UTF8.self) == text)
    var entities = model.entities
    entities[0].properties[0] = .string("a", optional: false, default: "x")
    model = try ManagedObjectModel(entities, configurations: ["C": ["A"]])
    try document.update(to: model)
    #expect(document.problems() == problems)
  }

  @Test("Flags for CloudKit and Spotlight that are not set are not reported")
  func absentServices() throws {
    let text = """
      <model usedWithCloudKit="NO"><entity name="A" coreSpotlightDisplayNameExpression="">
      <attribute name="a" optional="YES" attributeType="String" allowsCloudEncryption="false"/></entity></model>
      """
    #expect(try ModelDocument(Array(text.utf8), file: "contents").problems() == [])
  }

  @Test(
    "An invalid composite is reported once, at the attribute that refers to it",
    arguments: [
      "<composite name='C'>\n<attribute name='c' attributeType='Composite' composite='C'/></composite>",
      """
      <composite name='C'><attribute name='d' attributeType='Composite' composite='D'/></composite>
      <composite name='D'><attribute name='c' attributeType='Composite' composite='C'/></composite>
      """,
      "<composite name='D'><attribute name='a' attributeType='String'/></composite>\n",
    ])
  func unusableComposites(_ composites: String) throws {
    let use = Self.attribute("Composite", "composite='C'")
    let document = try ModelDocument(Array("<model>\(composites)\n\(use)</model>".utf8), file: "contents")
    #expect(document.problems().map(\.kind) == [.composite], "\(document.problems())")
  }

  @Test("Warnings about unknown and unused names have their entity and property")
  func placesOfWarnings() throws {
    let text = """
      <model x="1">
      <entity name="A" x="1">
      <attribute name="a" x="1" optional="YES" attributeType="Composite" composite="C"><userInfo x="1"/></attribute>
      <attribute name="b" optional="YES" attributeType="String" allowsCloudEncryption="YES"/>
      <relationship name="r" x="1" optional="YES" toMany="YES" destinationEntity="A"><z/></relationship>
      <fetchedProperty name="f" x="1"><fetchRequest name="g" entity="A" x="1"/></fetchedProperty>
      <fetchIndex name="i" x="1"><fetchIndexElement property="b" x="1"/></fetchIndex>
      <uniquenessConstraints><uniquenessConstraint x="1"><constraint value="b"/></uniquenessConstraint></uniquenessConstraints>
      </entity>
      <composite name="C" x="1"><attribute name="c" optional="YES" y="1" attributeType="String"/></composite>
      <configuration name="D" x="1"><memberEntity name="A" x="1"/></configuration>
      </model>
      """
    let warnings = try ModelDocument(Array(text.utf8), file: "contents").problems()
      .filter { [.unknownContent, .unused].contains($0.kind) }
    let places = warnings.map { "\($0.line ?? 0) \($0.place ?? "-")" }
    #expect(
      places.sorted()
        == [
          "10 C", "10 C.c", "11 D", "11 D", "1 -", "2 A", "3 A.a", "3 A.a", "4 A.b", "5 A.r", "5 A.r",
          "6 A.f",
          "6 A.f", "7 A.i", "7 A.i", "8 A",
        ].sorted())
  }

  @Test("Each problem is printed as one line in the format of compiler diagnostics")
  func description() throws {
    let text = "<model>\n<entity name='A'><attribute name='a' attributeType='Strnig'/></entity></model>"
    let error = #expect(throws: ModelFileError.self) {
      try ModelDocument(Array(text.utf8), file: "M.xcdatamodel/contents").managedObjectModel()
    }
    let first = try #require(error?.description.split(separator: "\n").first)
    #expect(
      first == """
        M.xcdatamodel/contents:2: error: A.a: "Strnig" is not a type of attributes. Use a type of Xcode's editor. Did \
        you mean String?
        """)
  }
}
