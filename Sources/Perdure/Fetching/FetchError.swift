// Errors of fetches. Except for a damaged row, they are found before any row is read.

internal import PerdurePredicates

/// The error of a fetch. Unless its code is `damagedRow`, the request does not fit the model, and
/// nothing was read: correct the request.
public struct FetchError: Error, Hashable, Sendable {
  /// The kind of mistake.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String, Sendable {
      case unknownEntity, otherClass, unknownProperty, notARelationship, typeMismatch, toManyOrder,
        manyValues,
        unboundVariable, transientAttribute
      case noContext, noOrder, unsupportedFunction, invalidPattern, tooDeep
      case invalidWindow, damagedRow, unknownObjectID, unknownStore, fetchedProperty, notUnique
    }
    private let kind: Kind

    /// The model has no entity of that name.
    public static let unknownEntity = Code(kind: .unknownEntity)
    /// The objects of the entity do not have the requested class.
    public static let otherClass = Code(kind: .otherClass)
    /// The entity has no property of that name.
    public static let unknownProperty = Code(kind: .unknownProperty)
    /// The attribute or relationship is transient: no store has its values, so no fetch can use
    /// them in conditions or orders, or prefetch them.
    public static let transientAttribute = Code(kind: .transientAttribute)
    /// A path continues after a property that is not a relationship, or an operator needs a
    /// relationship.
    public static let notARelationship = Code(kind: .notARelationship)
    /// A value has a type that its comparison, function or order does not accept, as in a
    /// comparison of a number with text.
    public static let typeMismatch = Code(kind: .typeMismatch)
    /// Objects cannot be sorted by a path to many values.
    public static let toManyOrder = Code(kind: .toManyOrder)
    /// A path to many values is compared without ANY, ALL, NONE or an aggregate such as `@count`.
    public static let manyValues = Code(kind: .manyValues)
    /// A `$variable` was not replaced by a value.
    public static let unboundVariable = Code(kind: .unboundVariable)
    /// A predicate was evaluated for an object that no longer has a context.
    public static let noContext = Code(kind: .noContext)
    /// A predicate names an element by its position in an unordered relationship.
    public static let noOrder = Code(kind: .noOrder)
    /// The function is part of the language, but no fetch evaluates it.
    public static let unsupportedFunction = Code(kind: .unsupportedFunction)
    /// The regular expression of MATCHES cannot be parsed, or has constructs that are not
    /// supported.
    public static let invalidPattern = Code(kind: .invalidPattern)
    /// The predicate is nested more than 200 levels deep, or a path has more than 200 names.
    public static let tooDeep = Code(kind: .tooDeep)
    /// A limit, an offset or a batch size is negative.
    public static let invalidWindow = Code(kind: .invalidWindow)
    /// A row in the store is not a valid row of its entity: verify the store, restore it from a
    /// backup or salvage it.
    public static let damagedRow = Code(kind: .damagedRow)
    /// The predicate names an object of another store, or of an entity that the store does not
    /// have. Also for a text that is not an id.
    public static let unknownObjectID = Code(kind: .unknownObjectID)
    /// `affectedStores` has a store that does not belong to the context.
    public static let unknownStore = Code(kind: .unknownStore)

    /// A predicate or an order names a fetched property, or a stored model has one that this
    /// version cannot fetch.
    public static let fetchedProperty = Code(kind: .fetchedProperty)
    /// `findOrInsert` names an attribute that is not the only one of a uniqueness constraint.
    public static let notUnique = Code(kind: .notUnique)

    /// The name of the code.
    public var description: String { kind.rawValue }
  }

  /// The kind of mistake.
  public let code: Code
  /// The error and the remedy.
  public let message: String
  /// The entity that the error concerns: the fetched one, or one on a path. Empty if the request
  /// has no entity.
  public let entity: String
  /// The name, path, expression or id that the error concerns; nil if there is none.
  public let key: String?
  /// Existing names that resemble the unknown one, the nearest first.
  public let suggestions: [String]

  init(
    _ code: Code, _ message: String, entity: String, key: String? = nil, suggestions: [String] = []
  ) {
    self.code = code
    self.message = message
    self.entity = entity
    self.key = key
    self.suggestions = suggestions
  }
}

extension FetchError: CustomStringConvertible {
  /// The code and the message.
  public var description: String { "\(code): \(message)" }
}

extension FetchError {
  /// A row that cannot be read.
  static func damaged(_ error: RowError, entity: String) -> FetchError {
    FetchError(
      .damagedRow,
      "A row of \(entity) cannot be read. \(error) Verify the store, and restore it from a backup or salvage it.",
      entity: entity)
  }

  /// A predicate whose evaluation could overflow the stack.
  static func tooDeep(entity: String) -> FetchError {
    FetchError(
      .tooDeep,
      "The predicate about \(entity) is nested more than \(FetchPredicate.levelMax) levels deep, or has a path of more "
        + "names. Join alternatives in one OR, conditions in one AND, or use IN with a list.", entity: entity)
  }

  /// A path whose resolution could overflow the stack.
  static func longPath(_ entity: EntityStorage) -> FetchError {
    FetchError(
      .tooDeep, "A path from \(entity.name) has more than \(FetchPredicate.levelMax) names. Shorten it.",
      entity: entity.name)
  }

  /// A request for a class that is not the class of the entity's objects.
  static func otherClass(_ found: Any.Type, than asked: Any.Type, entity: String) -> FetchError {
    FetchError(
      .otherClass,
      "Objects of \(entity) are \(found) here, not \(asked). Use FetchRequest<\(found)>, or give the container "
        + "the class of \(entity).", entity: entity)
  }

  /// A request without a name of an entity and without a class that has an entity.
  static let noEntity = FetchError(
    .unknownEntity, "The request has no entity. Set its entityName, or request a class that has an entity.",
    entity: "")

  /// The id of an object that the store does not know.
  static func unknownObject(_ id: String, entity: String) -> FetchError {
    FetchError(
      .unknownObjectID,
      "\(id.shortened) is not an id of this store, so no object equals it. Use ids of this store: those of another "
        + "store, or of a new copy, are unknown here. container.managedObjectID(forURI:) returns nil for unknown ids.",
      entity: entity, key: id)
  }

  static func transientAttribute(_ name: String, of entity: EntityStorage) -> FetchError {
    FetchError(
      .transientAttribute,
      "\(entity.name).\(name) is transient, so no store has its values. Fetch without it, and filter or sort the "
        + "objects.",
      entity: entity.name, key: name)
  }

  static func unknownProperty(_ name: String, of entity: EntityStorage) -> FetchError {
    if entity.hasComposite(named: name) {
      return FetchError(
        .typeMismatch,
        "\(name) of \(entity.name) is a composite attribute. It has no order. It can be compared "
          + "only with nil, for a path to one object. Name one of its elements; for the objects of a "
          + "to-many relationship write SUBQUERY(objects, $o, $o.\(name) == nil).@count > 0.",
        entity: entity.name, key: name)
    }
    if name.hasPrefix("\\") {
      return FetchError(
        .unknownProperty,
        "\(name.shortened) does not read exactly one stored property of \(entity.name). Name one; write a path "
          + "through a relationship or a composite attribute as a closure, as in { $0.company.name }.",
        entity: entity.name, key: name)
    }
    if entity.hasFetchedProperty(named: name) {
      return FetchError(
        .fetchedProperty,
        "\(entity.name).\(name) is a fetched property, which a predicate or an order cannot name. Name stored "
          + "properties, or filter the objects after the fetch.", entity: entity.name, key: name)
    }
    let names = entity.properties.map(\.name)
    let near = NearMisses.of(name, in: names)
    let isOperator = CollectionOperator(spelling: name) != nil
    let hint =
      isOperator
      ? " Write @\(name) for the operator, as in objects.@\(name)."
      : near.isEmpty ? " Its properties are \(names.joined(separator: ", "))." : NearMisses.question(near)
    return FetchError(
      .unknownProperty, "\(entity.name) has no property \(name.shortened).\(hint)", entity: entity.name,
      key: name,
      suggestions: near)
  }
}
