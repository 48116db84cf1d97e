import Foundation
import PerdureModelCode
import PerdureModelDiagrams
import PerdureModelFiles
import PerdureModelGenerating
import PerdureTestSupport
import Testing

@Suite("Model files with random changes")
struct MutatedModelTests {
  private static let sample = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="1">
        <entity name="A" representedClassName="A" isAbstract="YES" elementID="Z" syncable="YES" codeGenerationType="class">
            <attribute name="a" attributeType="String" minValueString="1" maxValueString="9" regularExpressionString="[a-z]+" defaultValueString="x"/>
            <attribute name="b" optional="YES" attributeType="Composite" composite="C"><userInfo><entry key="k" value="v"/></userInfo></attribute>
            <attribute name="d" optional="YES" attributeType="Date" minDateTimeInterval="0" defaultDateTimeInterval="5" usesScalarValueType="NO"/>
            <attribute name="n" optional="YES" attributeType="Decimal" minValueString="-1" defaultValueString="1.5"/>
            <attribute name="t" optional="YES" attributeType="Transformable" valueTransformerName="T" customClassName="[String]"/>
            <relationship name="bs" optional="YES" toMany="YES" deletionRule="Cascade" ordered="YES" destinationEntity="B" inverseName="owner" inverseEntity="B"/>
            <fetchedProperty name="f" optional="YES"><fetchRequest name="fetchedPropertyFetchRequest" entity="B" predicateString="count &gt; $FETCH_SOURCE.n"/></fetchedProperty>
            <fetchIndex name="byA"><fetchIndexElement property="a" type="Binary" order="ascending"/></fetchIndex>
            <uniquenessConstraints><uniquenessConstraint><constraint value="a"/></uniquenessConstraint></uniquenessConstraints>
        </entity>
        <entity name="B" representedClassName=".B" syncable="YES" codeGenerationType="class">
            <attribute name="count" attributeType="Integer 16" minValueString="0" defaultValueString="0" usesScalarValueType="YES"/>
            <attribute name="label" optional="YES" attributeType="String" derived="YES" derivationExpression="owner.a"/>
            <attribute name="note" optional="YES" transient="YES"/>
            <relationship name="owner" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="A" inverseName="bs" inverseEntity="A"/>
            <compoundIndexes><compoundIndex><index value="count"/></compoundIndex></compoundIndexes>
        </entity>
        <entity name="S" representedClassName="S" parentEntity="A" syncable="YES" codeGenerationType="category">
            <attribute name="id" optional="YES" attributeType="UUID"/>
        </entity>
        <fetchRequest name="some" entity="B" predicateString="count &gt; $least" fetchLimit="3"/>
        <configuration name="All"><memberEntity name="A"/><memberEntity name="S"/><memberEntity name="B"/></configuration>
        <composite name="C">
            <attribute name="inner" optional="YES" attributeType="Composite" composite="D"/>
            <attribute name="x" attributeType="Double" defaultValueString="0.0"/>
        </composite>
        <composite name="D"><attribute name="y" optional="YES" attributeType="Boolean"/></composite>
        <elements><element name="A" positionX="0" positionY="0" width="128" height="64"/></elements>
    </model>
    """

  @Test("A changed file gives findings of one line each, or a model with code and pictures")
  func mutations() throws {
    let random = SeededGenerator.forTest("model files with random changes")
    let document = try ModelDocument(Array(Self.sample.utf8), file: "M/contents")
    #expect(document.checked().model != nil, "\(document.problems())")
    let models = try check(document, random, count: LongRun.count(150, long: 2_000))
    #expect(models > 10)
  }

  private static let corpus = ProcessInfo.processInfo.environment["PERDURE_MODEL_CORPUS"]

  /// The paths of the `.xml` files in the folder that the environment names, at any depth.
  private static let files: [String] =
    corpus.map { folder in
      let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
      return names.filter { $0.hasSuffix(".xml") }.sorted().map { "\(folder)/\($0)" }
    } ?? []

  @Test(
    "A changed model of a public project gives findings of one line each, or a model with code and pictures",
    .enabled(if: corpus != nil), arguments: files)
  func corpusMutations(_ path: String) throws {
    let random = SeededGenerator.forTest(path)
    _ = try check(
      try ModelBundle(contentsOf: path).document(), random, count: LongRun.count(20, long: 100))
  }

  /// - Returns: The number of changed documents that give a model.
  private func check(_ document: ModelDocument, _ random: SeededGenerator, count: Int) throws -> Int {
    var models = 0
    for number in 0..<count {
      var mutator = ModelMutator(document, random.derived(UInt64(number)))
      var changed = document
      mutator.mutate(&changed)
      let place: Comment = "number \(number), PERDURE_SEED=\(random.origin)"
      let (model, findings) = changed.checked()
      for finding in findings { expectOneLine("\(finding)", place) }
      #expect(model != nil || findings.contains { $0.severity == .error }, place)
      try checkBytes(of: changed, place)
      guard let model else { continue }
      models += 1
      try checkWriting(of: model, to: changed, place)
      checkCode(of: model, changed, place)
      checkPictures(of: model, place)
    }
    return models
  }

  private func expectOneLine(_ text: String, _ place: Comment) {
    #expect(!text.unicodeScalars.contains(where: Self.isControl), place)
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
      || scalar.properties.generalCategory == .lineSeparator
      || scalar.properties.generalCategory == .paragraphSeparator
  }

  /// Checks that a document is unchanged after it is written and read.
  private func checkBytes(of document: ModelDocument, _ place: Comment) throws {
    // The writer refuses control characters, which XML cannot contain.
    guard let bytes = try? document.bytes() else { return }
    let read = try ModelDocument(bytes, file: document.file)
    #expect(try read.bytes() == bytes, place)
    #expect(read.problems().map(\.message).sorted() == document.problems().map(\.message).sorted(), place)
  }

  private func checkWriting(
    of model: ManagedObjectModel, to document: ModelDocument, _ place: Comment
  ) throws {
    var document = document
    do throws(ModelFileError) {
      try document.update(to: model)
    } catch {
      for problem in error.problems { expectOneLine("\(problem)", place) }
      return
    }
    #expect(document.checked().model?.versionHash == model.versionHash, place)
  }

  private func checkCode(of model: ManagedObjectModel, _ document: ModelDocument, _ place: Comment) {
    for style in ModelCodeStyle.allCases {
      for code in [nil] + EntityCode.allCases.map(Optional.some) {
        var options = ModelCodeOptions()
        (options.style, options.entityCode) = (style, code)
        options.scalars = style == .macros ? .exact : .file
        do throws(ModelCodeError) {
          let file = try ModelCode.file(of: model, named: "M", hints: document.codeHints(), options: options)
          for line in file.text.split(separator: "\n") { expectOneLine(String(line), place) }
        } catch {
          for problem in error.problems {
            expectOneLine("\(problem)", place)
            #expect(problem.entity == nil || problem.file == document.file, place)
          }
        }
      }
    }
  }

  private func checkPictures(of model: ManagedObjectModel, _ place: Comment) {
    let diagram = ModelDiagram(of: model)
    let texts = [
      SVGWriter.text(DiagramLayout(diagram), title: "M"), MermaidWriter.text(diagram),
      DOTWriter.text(diagram),
    ]
    for text in texts {
      for line in text.split(separator: "\n") { expectOneLine(String(line), place) }
    }
  }
}
