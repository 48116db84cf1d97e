internal import PerdurePredicates

/// Checks a request of a model: the entity, the limit, the offset and the batch size, the
/// predicate, the order, and the paths to prefetch.
///
/// The check follows every path through the entities of the model. It also infers the types of
/// variables from the operands with which they are compared. The types of constants are checked
/// later, by each fetch.
struct FetchRequestCheck {
  /// The kind of an expression's result.
  indirect enum Kind {
    case any
    case value(AttributeType)
    /// An object of the entity at an index.
    case object(Int)
    /// A composite attribute of the entity at an index.
    case composite(Int, path: String)
    case many(Kind)

    /// The kind of a collection's elements; for other kinds, the kind itself.
    var element: Kind {
      if case .many(let element) = self { element.element } else { self }
    }
  }

  /// The fetched property that has the request.
  struct Source {
    /// The index of the entity that declares the property.
    let entity: Int
    let userInfo: [String: String]
  }

  let model: ModelValidation
  let source: Source?
  var result = CheckedFetchRequest()
  /// The fetched entity.
  private(set) var root = Kind.any

  /// - Parameter source: The fetched property that has the request; nil for a template.
  init(_ request: FetchRequestDescription, of source: Source?, in model: ModelValidation) {
    self.model = model
    self.source = source
    if let index = model.indicesByName[request.entityName] {
      root = .object(index)
    } else {
      note(
        "The fetched entity \"\(request.entityName)\" is not in the model.",
        "Correct the name.\(model.question(request.entityName, in: model.indicesByName.keys))")
    }
    checkWindow(request)
    parse(request.predicateFormat)
    if let predicate = result.predicate { check(predicate, [:]) }
    for order in request.sortDescriptors { check(order) }
    for path in request.relationshipKeyPathsForPrefetching { checkPrefetched(path) }
  }

  /// Adds an error. Keeps only the first error of a stored request, because the bytes of the
  /// request may be hostile.
  mutating func note(_ message: String, _ remedy: String) {
    if model.isStored, !result.flaws.isEmpty { return }
    let flaw = FetchRequestFlaw(message: message, remedy: remedy)
    if !result.flaws.contains(flaw) { result.flaws.append(flaw) }
  }

  private mutating func checkWindow(_ request: FetchRequestDescription) {
    let sizes = [
      ("limit", request.fetchLimit), ("offset", request.fetchOffset), ("batch size", request.fetchBatchSize),
    ]
    for (name, size) in sizes where !(0...Int(Int32.max)).contains(size) {
      note("The \(name) \(size) is impossible.", "Use a number from 0 to \(Int32.max).")
    }
  }

  private mutating func parse(_ format: String?) {
    guard let format else { return }
    do throws(PredicateSyntaxError) {
      result.predicate = try FetchPredicate(format: format)
    } catch {
      note("The predicate \(format.shortened) cannot be read. \(error)", "Correct the predicate.")
    }
  }

  // MARK: Order and prefetching

  private mutating func check(_ order: FetchOrder) {
    let end = follow(order.path, from: root)
    let text = FetchExpression.keyPath(order.path).shortDescription
    switch end {
    case .any, .value: break
    case .many: note("The sort key \(text) has any number of values.", "Sort by one value, or by @count.")
    case .object, .composite:
      note(
        "The sort key \(text) is an object or a composite attribute, which has no order.",
        "Sort by an attribute of it.")
    }
  }

  private mutating func checkPrefetched(_ path: String) {
    let names = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    switch follow(names[...], from: root).element {
    case .any, .object: break
    case .value, .composite, .many:
      note("The path \(path.shortened) to prefetch does not end at a relationship.", "Correct the path.")
    }
  }
}
