/// The hooks that a class overrides. For generated code, and for classes without `@Entity` that
/// declare their hooks.
///
/// An object without an instance gets one before a save or a deletion only if its class has a hook
/// for that. So without hooks, a delete rule makes no instances of the objects that it deletes.
public struct _LifeCycle: OptionSet, Sendable {
  /// A bit for each hook.
  public let rawValue: UInt16
  /// Makes a set from its bits.
  public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// `awakeFromInsert()`.
  public static let awakeFromInsert = _LifeCycle(rawValue: 1 << 0)
  /// `awakeFromFetch()`.
  public static let awakeFromFetch = _LifeCycle(rawValue: 1 << 1)
  /// `awake(fromSnapshotEvents:)`.
  public static let awakeFromSnapshotEvents = _LifeCycle(rawValue: 1 << 2)
  /// `willSave()`.
  public static let willSave = _LifeCycle(rawValue: 1 << 3)
  /// `didSave()`.
  public static let didSave = _LifeCycle(rawValue: 1 << 4)
  /// `prepareForDeletion()`.
  public static let prepareForDeletion = _LifeCycle(rawValue: 1 << 5)
  /// `willTurnIntoFault()`.
  public static let willTurnIntoFault = _LifeCycle(rawValue: 1 << 6)
  /// `didTurnIntoFault()`.
  public static let didTurnIntoFault = _LifeCycle(rawValue: 1 << 7)
  /// `validateForInsert()`.
  public static let validateForInsert = _LifeCycle(rawValue: 1 << 8)
  /// `validateForUpdate()`.
  public static let validateForUpdate = _LifeCycle(rawValue: 1 << 9)
  /// `validateForDelete()`.
  public static let validateForDelete = _LifeCycle(rawValue: 1 << 10)

  /// `validateValue(_:forKey:)` for all properties. Not set if the class overrides `validatedKeys`
  /// to list some.
  public static let validateValue = _LifeCycle(rawValue: 1 << 11)

  /// Every hook: assumed for a class that does not declare its hooks.
  public static let all = _LifeCycle(rawValue: (1 << 12) - 1 | assumed.rawValue)
  /// Marks a class that does not declare its hooks, so all of them are assumed.
  static let assumed = _LifeCycle(rawValue: 1 << 15)

  /// The hooks that depend on an object's row.
  static let faulting: _LifeCycle = [
    .awakeFromFetch, .awakeFromSnapshotEvents, .willTurnIntoFault, .didTurnIntoFault,
  ]

  static let validating: _LifeCycle = [.validateForInsert, .validateForUpdate, .validateForDelete]
}

/// Why an object's values were replaced as a whole, for `awake(fromSnapshotEvents:)`.
public struct SnapshotEventType: OptionSet, Sendable {
  /// A bit for each reason; the numbers are Core Data's.
  public let rawValue: UInt
  /// Makes a set from its bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// An insertion was undone. Not used, because the instance is no longer in a context.
  public static let undoInsertion = SnapshotEventType(rawValue: 2)
  /// A deletion was undone, by an undo or by a rollback. A rollback also sets `rollback`.
  public static let undoDeletion = SnapshotEventType(rawValue: 4)
  /// A change was undone or redone.
  public static let undoUpdate = SnapshotEventType(rawValue: 8)
  /// The context was rolled back, and with it the object's unsaved changes.
  public static let rollback = SnapshotEventType(rawValue: 16)
  /// The object was refreshed with its changes merged, or has a newer row because the context has
  /// advanced.
  public static let refresh = SnapshotEventType(rawValue: 32)
  /// A merge policy has resolved a conflict. Not used so far.
  public static let mergePolicy = SnapshotEventType(rawValue: 64)
}

/// The state of an object's row hooks, whether the object is gone, and whether its row differs from
/// the store's row. All are in one byte, so a property setter checks hooks and `gone` in one test.
/// Empty for most objects.
struct Wakefulness: OptionSet {
  let rawValue: UInt8

  /// The next access must call a hook first. Until then, accessors must not read the row directly,
  /// whether or not it is loaded (H1 in ObjectHeader.swift).
  static let hookIsDue = Wakefulness(rawValue: 1)
  /// The object was inserted or its hook was called, and it has not become a fault since.
  static let awake = Wakefulness(rawValue: 2)
  /// `awakeFromFetch` is running. Attributes that it sets do not count as changed.
  static let waking = Wakefulness(rawValue: 4)
  /// The object is gone (`ObjectState.gone`). No row hook is called.
  static let gone = Wakefulness(rawValue: 8)
  /// `willTurnIntoFault` has been called, and `didTurnIntoFault` has not. Neither is called twice.
  static let turning = Wakefulness(rawValue: 16)
  /// The instance's row has a value from `setPrimitiveValue(_:forKey:)`, and the store's row does
  /// not.
  static let altered = Wakefulness(rawValue: 32)
  /// The object is gone and counts as deleted (`ObjectHeader.hasVanished`).
  static let vanished = Wakefulness(rawValue: 64)
  /// The instance's row has a value that the program has set, possibly in `awakeFromFetch`.
  static let rewritten = Wakefulness(rawValue: 128)
}
