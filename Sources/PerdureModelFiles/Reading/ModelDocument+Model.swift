public import PerdureModel

extension ModelDocument {
  /// The model that the file describes.
  ///
  /// Entities and properties are in the order of the file. Defaults and bounds have the form of the
  /// attribute's type: the text `0` is a `Double` for an attribute of doubles. An entity without a
  /// class has the class name `ManagedObject`. A stored transformable attribute without a
  /// transformer has ``AttributeDescription/secureArchiveTransformerName``, as in Core Data. An
  /// attribute that an older file marks as indexed has an ordinary index in the model. A compound
  /// index is an ordinary index too. The model has no settings that are specific to Core Data, such
  /// as scalar types, code generation and diagrams; the document has them.
  ///
  /// - Throws: `ModelFileError` with all problems and their lines, if one of them is an error.
  /// - Complexity: O(n) for a file of n bytes, and that of `ManagedObjectModel.init`.
  public func managedObjectModel() throws(ModelFileError) -> ManagedObjectModel {
    let (model, problems) = checked()
    guard let model else { throw ModelFileError(problems) }
    return model
  }

  /// All findings about the file, in the order of their lines: errors, warnings and notes.
  ///
  /// - Complexity: as for ``managedObjectModel()``.
  public func problems() -> [ModelFileProblem] { checked().problems }

  /// The model, which is nil if there is an error, and all findings.
  package func checked() -> (model: ManagedObjectModel?, problems: [ModelFileProblem]) {
    let content = ModelReader.read(self)
    var problems = content.problems
    var model: ManagedObjectModel?
    do throws(ModelError) {
      let checked = try ManagedObjectModel(
        content.entities, configurations: content.configurations,
        versionIdentifiers: content.versionIdentifiers, templates: content.templates)
      problems += checked.warnings.map { problem($0, .warning, content.lines) }
      model = checked
    } catch {
      problems += error.problems.map { problem($0, .error, content.lines) }
    }
    problems = Self.sorted(problems)
    return (problems.contains { $0.severity == .error } ? nil : model, problems)
  }

  private func problem(
    _ problem: ModelProblem, _ severity: ModelFileProblem.Severity, _ lines: SourceLines
  ) -> ModelFileProblem {
    let names = [problem.entity, problem.property ?? ""].filter { !$0.isEmpty }
    return ModelFileProblem(
      severity: severity, kind: .model(problem.rule), file: file, line: lines.line(of: problem),
      place: names.isEmpty ? nil : names.joined(separator: "."), message: problem.message,
      remedy: problem.remedy)
  }

  /// Sorts findings by line. Findings of one line keep their order.
  private static func sorted(_ problems: [ModelFileProblem]) -> [ModelFileProblem] {
    problems.enumerated()
      .sorted { ($0.element.line ?? 0, $0.offset) < ($1.element.line ?? 0, $1.offset) }
      .map(\.element)
  }
}
