public import PerdureModel
public import PerdurePredicates

/// The reason why an operation of a context or a container failed. Nothing has changed except by
/// hooks: unsaved changes are still unsaved. There are two exceptions. If a write or sync of a save
/// failed, the outcome is unknown (`isOutcomeUnknown`). With several stores, some may have saved
/// (`incompleteSave`).
///
///     do {
///       try context.save()
///     } catch {
///       guard error.code == .constraintConflict else { throw error }
///       for conflict in error.conflicts { print(conflict) }
///     }
public struct PerdureError: Error, Sendable {
  /// The kind of failure. The numbers are those of Core Data, except the numbers from 139000 on.
  public struct Code: RawRepresentable, Hashable, Sendable {
    /// The number.
    public let rawValue: Int
    /// A code from its number.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// A predicate of the model, a class, or a validation method of an object refuses a value, or
    /// the property cannot hold the value.
    public static let validation = Code(rawValue: 1550)
    /// Several objects or properties are invalid; `details` lists all.
    public static let multipleValidationErrors = Code(rawValue: 1560)
    /// An attribute or a to-one relationship that is not optional has no value.
    public static let missingMandatoryProperty = Code(rawValue: 1570)
    /// A to-many relationship has fewer objects than its minimum, which is at least one if the
    /// relationship is not optional.
    public static let relationshipLacksMinimumCount = Code(rawValue: 1580)
    /// A to-many relationship has more objects than its maximum.
    public static let relationshipExceedsMaximumCount = Code(rawValue: 1590)
    /// The deletion of an object was requested while a relationship with the rule deny has objects.
    public static let relationshipDeniedDelete = Code(rawValue: 1600)
    /// A number is greater than the maximum of its attribute.
    public static let numberTooLarge = Code(rawValue: 1610)
    /// A number is less than the minimum of its attribute.
    public static let numberTooSmall = Code(rawValue: 1620)
    /// A date is after the maximum of its attribute.
    public static let dateTooLate = Code(rawValue: 1630)
    /// A date is before the minimum of its attribute.
    public static let dateTooSoon = Code(rawValue: 1640)
    /// A text or a binary value is longer than its attribute allows.
    public static let stringTooLong = Code(rawValue: 1660)
    /// A text or a binary value is shorter than its attribute allows.
    public static let stringTooShort = Code(rawValue: 1670)
    /// A text does not match the pattern of its attribute.
    public static let stringPatternMatching = Code(rawValue: 1680)
    /// A URI does not match the pattern of its attribute, or is longer or shorter than the
    /// attribute allows.
    public static let invalidURI = Code(rawValue: 1690)
    /// The object does not exist in the store, or the context no longer has it.
    public static let objectNotFound = Code(rawValue: 133_000)
    /// An id belongs to another store or to an entity that the model does not have.
    public static let unknownObjectID = Code(rawValue: 133_010)
    /// A relationship connects objects of different stores.
    public static let externalRelationship = Code(rawValue: 133_010)
    /// Another context has changed, deleted or linked the objects of this save.
    public static let mergeConflict = Code(rawValue: 133_020)
    /// The save violates a uniqueness constraint.
    public static let constraintConflict = Code(rawValue: 133_021)
    /// The model has no such configuration, or the store has no such entity.
    public static let incompatibleSchema = Code(rawValue: 134_020)
    /// The store could not write (`cause` has the reason), is read-only, or had no ids for new
    /// objects. In a child context, also: the parent no longer exists, or cannot take the save now.
    public static let saveFailed = Code(rawValue: 134_030)
    /// Some stores have saved their part (`savedStoreIdentifiers` lists them), and another store
    /// could not save; `cause` has the reason. Only the unsaved part is still pending, so the next
    /// save does not save anything twice.
    public static let incompleteSave = Code(rawValue: 134_040)
    /// The store could not be read, or a row is damaged; `cause` has the reason.
    public static let readFailed = Code(rawValue: 134_060)
    /// A store does not permit an operation. Examples: an object that is saved or linked cannot be
    /// assigned to another store; the store is not open, or is open only for reading; the context
    /// cannot show a state, or cannot undo in its state.
    public static let storeOperation = Code(rawValue: 134_070)
    /// The hooks of a save changed objects again and again. `objectIDs` lists these objects. Core
    /// Data does not use this number; it raises an exception.
    public static let endlessChanges = Code(rawValue: 139_000)
    /// An entity has no property with the given name, the property cannot be set, or a path cannot
    /// be followed. Core Data does not use this number; it raises an exception.
    public static let unknownKey = Code(rawValue: 139_001)
    /// JSON does not fit the model, or a value cannot be written as JSON; the message contains the
    /// position. Core Data does not use this number.
    public static let invalidJSON = Code(rawValue: 139_002)
    /// An undo or a redo was refused, because values were changed after its group of edits.
    /// `undoConflicts` lists them. Core Data does not use this number.
    public static let undoConflict = Code(rawValue: 139_003)
    /// The store could not be opened; `cause` has the reason.
    public static let openFailed = Code(rawValue: 134_080)
    /// The program's model differs from the store's model by changes other than additions. `cause`
    /// lists every difference.
    public static let incompatibleModel = Code(rawValue: 134_100)
  }

  /// One property of one object that prevents the operation.
  public struct Detail: Hashable, Sendable {
    /// The code of the error.
    public let code: Code
    /// The object.
    public let objectID: ManagedObjectID
    /// The property; empty if the object is refused as a whole.
    public let property: String
    /// The value of the property: for a to-many relationship the number of objects.
    public let value: Value
    /// The violated rule, in words.
    public let rule: String
    /// The violated validation rule of the model; nil for any other requirement, such as a missing
    /// value, a wrong type, a wrong number of objects, or a delete rule.
    public internal(set) var validationRule: ValidationRule?
    /// The error that a validation method of the program has thrown; nil for any other cause.
    public let cause: (any Error)?

    init(
      code: Code, objectID: ManagedObjectID, property: String, value: Value, rule: String,
      validationRule: ValidationRule? = nil, cause: (any Error)? = nil
    ) {
      self.code = code
      self.objectID = objectID
      self.property = property
      self.value = value
      self.rule = rule
      self.validationRule = validationRule
      self.cause = cause
    }

    /// Whether both details are equal, ignoring their causes.
    public static func == (left: Detail, right: Detail) -> Bool {
      left.code == right.code && left.objectID == right.objectID && left.property == right.property
        && left.value == right.value && left.rule == right.rule
        && left.validationRule == right.validationRule
    }

    /// Hashes the code, the object, the property and the rule.
    public func hash(into hasher: inout Hasher) {
      hasher.combine(code)
      hasher.combine(objectID)
      hasher.combine(property)
      hasher.combine(rule)
    }
  }

  /// A conflict between this context and another one.
  public struct Conflict: Hashable, Sendable {
    /// The kinds of conflicts.
    public enum Kind: Hashable, Sendable {
      /// Another context has changed or deleted the object.
      case changed
      /// This save links to the object, which no longer exists.
      case targetMissing
      /// Another context has linked or unlinked the object, which this save deletes or links.
      case linksChanged
      /// Another object has the same values in a uniqueness constraint.
      case duplicate(constraint: [String], existing: ManagedObjectID)
    }

    /// The kind of conflict.
    public let kind: Kind
    /// The object that has the conflict.
    public let objectID: ManagedObjectID
    /// The values that both objects have, for each property of the constraint; empty if no
    /// constraint is violated.
    public internal(set) var values: [Value] = []
    /// For a missing target: the objects with unsaved links to it. When the context has advanced,
    /// their relationships no longer show the target. Set the relationships to nil or to another
    /// object, or discard the changes of these objects.
    public internal(set) var linkedFrom: [ManagedObjectID] = []
    /// For an object that both sides changed: the properties in conflict, with the earlier value,
    /// the local value and the store's value. For an object that the other side deleted: all
    /// properties that were changed here. For a violated constraint: its properties that were
    /// changed here.
    public internal(set) var properties: [PropertyVersions] = []
    /// Whether the object is deleted here and was changed by another context.
    public internal(set) var isDeletedHere = false
    /// Whether another context has deleted the object, which was changed or deleted here.
    public internal(set) var isDeletedInStore = false

    init(kind: Kind, objectID: ManagedObjectID) {
      self.kind = kind
      self.objectID = objectID
    }
  }

  /// The kind of failure.
  public let code: Code
  /// The failure and the remedy, in sentences.
  public let message: String
  /// For validation: all violated rules.
  public var details: [Detail] = []
  /// For conflicts: all conflicts.
  public var conflicts: [Conflict] = []
  /// For an undo or a redo: every value that was changed after the group of edits.
  public internal(set) var undoConflicts: [UndoConflict] = []
  /// Whether a failed save may have taken effect: a write or a sync has failed, and only another
  /// opening of the store shows the result. False if certainly nothing was saved.
  public internal(set) var isOutcomeUnknown = false
  /// The objects that caused the error, for example those that the hooks of a save still change, or
  /// that have no id. Failed validations and conflicts list their objects in `details` and
  /// `conflicts` instead.
  public internal(set) var objectIDs: [ManagedObjectID] = []
  /// For an incomplete save: the stores that have saved.
  public internal(set) var savedStoreIdentifiers: [String] = []
  /// The error of the store, or of the program's code, that caused this error.
  public var cause: (any Error)?

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}

extension PerdureError {
  /// The error that a validation method throws to refuse a value.
  ///
  ///     override func validateForInsert() throws {
  ///       if end < start {
  ///         throw PerdureError.invalid(self, "end", "must not be before the start")
  ///       }
  ///     }
  ///
  /// - Parameters:
  ///   - object: The object with the invalid value.
  ///   - key: The name of the invalid property.
  ///   - rule: The violated requirement, in words that follow the property's name.
  ///   - code: The kind of rule.
  public static func invalid(
    _ object: ManagedObject, _ key: String, _ rule: String, code: Code = .validation
  ) -> PerdureError {
    let value = (object.storedValue(forKey: key) as? any PredicateArgument)?.predicateValue ?? .null
    return .validation([
      Detail(code: code, objectID: object.objectID, property: key, value: value, rule: rule)
    ])
  }
}

extension PerdureError: CustomStringConvertible {
  /// The code, the message, and one line for each of the first details and conflicts and for the
  /// cause. `localizedDescription` is the same.
  public var description: String {
    var lines = ["\(code.rawValue): \(message)"]
    lines += Self.lines(details, "details") + Self.lines(conflicts, "conflicts")
    lines += Self.lines(undoConflicts, "conflicts")
    if let cause { lines.append("  caused by: \(cause)") }
    return lines.joined(separator: "\n")
  }

  private static let listedMax = 10

  private static func lines(_ items: [some CustomStringConvertible], _ name: String) -> [String] {
    let more = items.count - listedMax
    return items.prefix(listedMax).map { "  \($0)" } + (more > 0 ? ["  and \(more) more \(name)"] : [])
  }
}

extension PerdureError.Detail: CustomStringConvertible {
  /// The code, the object, the property with its value, and the rule.
  public var description: String {
    "\(code.rawValue) \(objectID)" + (property.isEmpty ? "" : " \(property) = \("\(value)".shortened)")
      + ": \(rule)"
  }
}

extension PerdureError.Conflict: CustomStringConvertible {
  /// The object and its conflict, in words.
  public var description: String {
    switch kind {
    case .changed: "\(objectID) \(change) by another context\(Self.words(properties))"
    case .targetMissing:
      "\(objectID) is linked to\(Self.words(linkedFrom)), and no longer exists: link to another object or to nil, or "
        + "delete the linking object"
    case .linksChanged: "\(objectID) was linked or unlinked by another context"
    case .duplicate(let constraint, let existing):
      "\(objectID) has the same \(Self.words(constraint, values)) as \(existing)"
    }
  }

  private var change: String {
    if isDeletedInStore { return "was deleted" }
    if isDeletedHere { return "is deleted here, and was changed" }
    return properties.isEmpty ? "was changed or deleted" : "was changed"
  }

  private static func words(_ properties: [PropertyVersions]) -> String {
    properties.isEmpty ? "" : ": " + properties.map { "\($0)" }.joined(separator: "; ")
  }

  /// The first three of the linking objects: by a, b, c and 7 more.
  private static func words(_ sources: [ManagedObjectID]) -> String {
    if sources.isEmpty { return "" }
    let more = sources.count > 3 ? " and \(sources.count - 3) more" : ""
    return " by " + sources.prefix(3).map { "\($0)" }.joined(separator: ", ") + more
  }

  /// Properties with their values: email "x".
  static func words(_ names: [String], _ values: [Value]) -> String {
    zip(names, values).map { "\($0) \("\($1)".shortened)" }.joined(separator: " and ")
  }
}
