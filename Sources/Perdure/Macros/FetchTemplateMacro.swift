public import PerdureModel
public import PerdurePredicates

/// Makes a static function of an `@Entity` class a fetch request template. The macro writes the
/// body of the function.
///
///     @Entity final class Worker: ManagedObject {
///       var salary: Double = 0
///       @FetchTemplate("salary > $least", order: [FetchOrder("salary")])
///       static func rich(least: Double) -> FetchRequest<Worker>
///     }
///
///     let rich = try context.fetch(Worker.rich(least: 1000))
///
/// Each parameter of the function is a variable of the predicate, with the name that the parameter
/// has inside the function. The compiler checks the types of the passed values. The type of each
/// parameter must match the operand that the predicate compares with the variable. A container
/// rejects other types with error 134080 when it loads its stores. An optional parameter may be
/// nil: `name == $name` then selects the objects without a name. The template has the name of the
/// function. A container that is made from classes adds the template to its model, which checks the
/// predicate. For a model in code, see `FetchRequestTemplate.templates(of:)`.
///
/// If the variables of the predicate differ from the parameters, the first use of the template
/// stops the program. Making a container from the class is a use.
///
/// - Parameters:
///   - predicate: The condition as a format string without arguments; nil for all objects.
///   - order: The order, most significant criterion first.
///   - limit: The maximum number of objects; 0 for all.
@attached(body)
public macro FetchTemplate(_ predicate: String? = nil, order: [FetchOrder] = [], limit: Int = 0) =
  #externalMacro(module: "PerdureMacroPlugin", type: "FetchTemplateMacro")

/// The template of a function with `@FetchTemplate`. For generated code.
public struct _ClassTemplate<Root: ManagedObject>: Sendable {
  /// The template for models.
  public let template: FetchRequestTemplate
  /// The types of the function's parameters by their names.
  public let parameters: [String: Any.Type]
  private let request: FetchRequest<Root>

  /// Makes the template, and parses its predicate once.
  ///
  /// - Parameter parameters: The types of the function's parameters by their names; `Any` for an
  ///   unknown type.
  public init(
    _ name: String, _ parameters: [String: Any.Type], _ predicate: String? = nil, order: [FetchOrder] = [],
    limit: Int = 0
  ) {
    self.parameters = parameters
    template = FetchRequestTemplate(
      name, Root._entityName, predicate, sortDescriptors: order, fetchLimit: limit)
    // The model reports a predicate that cannot be read.
    let parsed = predicate.flatMap { try? FetchPredicate(format: $0) }
    let variables = parsed?.variables ?? []
    if parsed != nil || predicate == nil, variables != Set(parameters.keys) {
      stop(
        "The predicate of the template \(Root.self).\(name) has the variables \(variables.sorted()), but the function "
          + "has the parameters \(parameters.keys.sorted()). Give the function one parameter for each variable."
      )
    }
    request = FetchRequest(template.request, predicate: parsed ?? (predicate == nil ? nil : .false))
  }

  /// A request with values for the variables.
  public func request(_ values: [String: (any PredicateArgument)?]) -> FetchRequest<Root> {
    var request = request
    request.predicate = request.predicate?.withSubstitutionVariables(values.mapValues { $0 ?? Value.null })
    return request
  }
}

extension FetchRequestTemplate {
  /// The templates of classes: those of their functions with `@FetchTemplate`. For a model that is
  /// made in code:
  ///
  ///     ManagedObjectModel(entities, templates: FetchRequestTemplate.templates(of: [Worker.self]))
  public static func templates(of classes: [ManagedObject.Type]) -> [FetchRequestTemplate] {
    var templates: [FetchRequestTemplate] = []
    // A class that declares no templates has those of its superclass.
    for template in classes.flatMap({ $0._fetchTemplates }) where !templates.contains(template) {
      templates.append(template)
    }
    return templates
  }
}
