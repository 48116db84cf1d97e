public import PerdureModel
public import PerdurePredicates

extension ManagedObjectModel {
  /// The request of a template. Its variables are not replaced. Nil if the model has no template
  /// with the name.
  ///
  /// A fetch rejects a request with variables. Use
  /// ``fetchRequestFromTemplate(withName:substitutionVariables:as:)`` for a template with
  /// variables.
  ///
  /// - Complexity: O(t) for t templates.
  public func fetchRequestTemplate(forName name: String) -> FetchRequest<ManagedObject>? {
    guard let template = fetchRequestTemplates.first(where: { $0.name == name }) else { return nil }
    return FetchRequest(template.request, predicate: templateRequests[name]?.predicate)
  }

  /// Makes a request from a template, and replaces each variable by a value. The predicate is
  /// parsed only once for each model.
  ///
  ///     let request = try model.fetchRequestFromTemplate(
  ///       withName: "rich", substitutionVariables: ["least": 1000], as: Worker.self)
  ///
  /// The request is a copy of the template's and can be changed. `fetch(_:)`, `fetchIDs(_:)` and
  /// `count(for:)` decide the kind of results, independent of the template's result type.
  ///
  /// - Parameters:
  ///   - name: The name of the template.
  ///   - variables: The value of each variable, by its name without `$`. Nil is a value: write
  ///     `["name": nil]`, or `variables.updateValue(nil, forKey: "name")`, because
  ///     `variables["name"] = nil` removes the variable.
  ///   - type: The class of the fetched objects. A fetch throws if the objects have another class.
  /// - Throws: `FetchTemplateError`. Its `problems` are the variables that have no value, have a
  ///   value of another type, or are not in the template.
  /// - Complexity: O(n) for n nodes of the predicate.
  public func fetchRequestFromTemplate<Root: ManagedObject>(
    withName name: String, substitutionVariables variables: [String: (any PredicateArgument)?] = [:],
    as type: Root.Type = ManagedObject.self
  ) throws(FetchTemplateError) -> FetchRequest<Root> {
    guard let template = fetchRequestTemplates.first(where: { $0.name == name }),
      let checked = templateRequests[name]
    else {
      throw FetchTemplateError(
        .unknownTemplate, name,
        "The model has no fetch request template \"\(name.shortened)\"."
          + NearMisses.question(name, in: fetchRequestTemplates.map(\.name)))
    }
    if let flaw = template.flaw ?? checked.flaws.first {
      throw FetchTemplateError(
        .unusableTemplate, name,
        "The fetch request template \"\(name.shortened)\" cannot be used. \(flaw.message) \(flaw.remedy)")
    }
    let problems = FetchVariables(model: self, expected: checked.variables).problems(variables)
    guard problems.isEmpty else {
      throw FetchTemplateError(
        .variables, name, "The variables of the fetch request template \"\(name)\" do not fit.",
        problems: problems)
    }
    return FetchRequest(
      template.request,
      predicate: checked.predicate?.withSubstitutionVariables(variables.mapValues { $0 ?? Value.null }))
  }
}

extension FetchRequestTemplate {
  /// Makes a template for the objects of a class.
  ///
  ///     FetchRequestTemplate("rich", Worker.self, "salary > $least")
  ///
  /// - Parameters:
  ///   - name: The template's name.
  ///   - root: A class with an entity.
  ///   - predicateFormat: The condition as a format string without arguments, with `$name` for
  ///     variables; nil for all objects.
  ///   - sortDescriptors: The order, most significant criterion first.
  ///   - fetchLimit: The maximum number of objects; 0 for all.
  public init(
    _ name: String, _ root: ManagedObject.Type, _ predicateFormat: String? = nil,
    sortDescriptors: [FetchOrder] = [], fetchLimit: Int = 0
  ) {
    self.init(
      name, root._entityName, predicateFormat, sortDescriptors: sortDescriptors, fetchLimit: fetchLimit)
  }

  fileprivate var flaw: FetchRequestFlaw? {
    guard request.resultType == .dictionaries else { return nil }
    return FetchRequestFlaw(
      message: "Its results are dictionaries, which this version does not support.",
      remedy: "Fetch objects, and read their properties.")
  }
}

extension FetchRequest {
  /// A request with the settings of a description.
  ///
  /// - Parameter predicate: The predicate of the description, with values for its variables.
  init(_ description: FetchRequestDescription, predicate: FetchPredicate?) {
    self.init(
      entityName: description.entityName, predicate: predicate, sortDescriptors: description.sortDescriptors)
    fetchLimit = description.fetchLimit
    fetchOffset = description.fetchOffset
    fetchBatchSize = description.fetchBatchSize
    includesSubentities = description.includesSubentities
    includesPendingChanges = description.includesPendingChanges
    includesPropertyValues = description.includesPropertyValues
    returnsObjectsAsFaults = description.returnsObjectsAsFaults
    relationshipKeyPathsForPrefetching = description.relationshipKeyPathsForPrefetching
  }
}
