import PerdurePredicates

/// Generates classes in Swift from a model.
public enum ModelCode {
  /// The generated file. It has classes with accessors or macros for the entities, types of
  /// composite attributes, and names as constants. It also has the model, and typed functions for
  /// its fetch request templates.
  ///
  /// The text depends only on the parameters, and not on the order of entities, configurations and
  /// templates. Properties have the order of the model, which is the order of their slots.
  ///
  /// - Parameters:
  ///   - model: The model.
  ///   - name: The name of the model, such as `Notes`. The file is called `Notes+Generated.swift`.
  ///   - hints: The hints of the model file for generated code.
  ///   - options: The choices for the code.
  /// - Throws: `ModelCodeError` with every problem.
  /// - Complexity: O(p) for p properties. Inherited properties count once per entity.
  public static func file(
    of model: ManagedObjectModel, named name: String, hints: ModelCodeHints = ModelCodeHints(),
    options: ModelCodeOptions = ModelCodeOptions()
  ) throws(ModelCodeError) -> GeneratedFile {
    var planner = CodePlanner(model, hints, options)
    let plan = planner.plan(named: name)
    var problems = planner.problems + NameCheck.problems(of: plan)
    if options.style == .macros { problems += MacroCheck.problems(of: plan) }
    guard problems.isEmpty else {
      throw ModelCodeError(problems: problems.map { $0.located(in: hints.source) })
    }
    return GeneratedFile(name: fileName(ofModel: name), text: text(of: plan))
  }

  /// The name of the generated file of a model. It depends only on the model's name.
  public static func fileName(ofModel name: String) -> String { "\(name)+Generated.swift" }

  private static func text(of plan: CodePlan) -> String {
    var lines = CodeLines()
    HeadWriter(plan: plan).write(to: &lines)
    ModelWriter(plan: plan).write(to: &lines)
    for entity in plan.entities {
      switch plan.options.style {
      case .accessors: ClassWriter(entity: entity, options: plan.options).write(to: &lines)
      case .macros: MacroClassWriter(entity: entity, options: plan.options).write(to: &lines)
      }
      EntityWriter(entity: entity, options: plan.options).write(to: &lines)
    }
    for composite in plan.composites {
      CompositeWriter(composite: composite, options: plan.options).write(to: &lines)
    }
    return lines.text
  }
}
