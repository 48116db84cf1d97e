/// Which of its hooks a class overrides. For generated code, and for classes without `@Entity` that
/// want to say it themselves.
///
/// An object without an instance gets one before a save or a deletion only if its class has a hook
/// for that. So the objects that a delete rule deletes cost no instances if there are no hooks.
public struct _LifeCycle: OptionSet, Sendable {
  /// A bit for each hook.
  public let rawValue: UInt16
  /// From bits.
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

  /// Those that have to do with the row's coming and going.
  static let faulting: _LifeCycle = [
    .awakeFromFetch, .awakeFromSnapshotEvents, .willTurnIntoFault, .didTurnIntoFault,
  ]

  static let validating: _LifeCycle = [.validateForInsert, .validateForUpdate, .validateForDelete]
}

/// Why an object's values were replaced as a whole, for `awake(fromSnapshotEvents:)`.
public struct SnapshotEventType: OptionSet, Sendable {
  /// A bit for each reason; the numbers are Core Data's.
  public let rawValue: UInt
  /// From bits.
  public init(rawValue: UInt) { self.rawValue = rawValue }

  /// An insertion was undone. Not used: the instance is in no context any more.
  public static let undoInsertion = SnapshotEventType(rawValue: 2)
  /// A deletion was undone, by an undo or together with `rollback`.
  public static let undoDeletion = SnapshotEventType(rawValue: 4)
  /// A change was undone or redone.
  public static let undoUpdate = SnapshotEventType(rawValue: 8)
  /// The context was rolled back, and with it the object's unsaved changes.
  public static let rollback = SnapshotEventType(rawValue: 16)
  /// The object has a newer row, after a refresh or because the context has advanced.
  public static let refresh = SnapshotEventType(rawValue: 32)
  /// A merge policy has decided. Not used so far.
  public static let mergePolicy = SnapshotEventType(rawValue: 64)
}

/// What an instance with hooks for its row has been told of it, whether it is gone, and whether its row is its own,
/// in one byte: who sets a property asks for the first two at once. Empty for all others.
struct Wakefulness: OptionSet {
  let rawValue: UInt8

  /// Whoever touches the object next has to call a hook first: its row may not be read at once
  /// (H1 in ObjectHeader.swift), whether or not it is there.
  static let drowsy = Wakefulness(rawValue: 1)
  /// The object was inserted or woken up, and has not become a fault since.
  static let awake = Wakefulness(rawValue: 2)
  /// `awakeFromFetch` is running: what it sets are no changes.
  static let waking = Wakefulness(rawValue: 4)
  /// The object is gone (`ObjectState.gone`): nobody wakes it.
  static let gone = Wakefulness(rawValue: 8)
  /// `willTurnIntoFault` has been called and `didTurnIntoFault` not yet: nobody is told a second time.
  static let turning = Wakefulness(rawValue: 16)
  /// The instance's row has a value that `setPrimitiveValue(_:forKey:)` put there, and the store's has not.
  static let altered = Wakefulness(rawValue: 32)
  /// The object is gone because another context has removed its row.
  static let vanished = Wakefulness(rawValue: 64)
  /// The instance's row has a value that the program put there, `awakeFromFetch` included.
  static let rewritten = Wakefulness(rawValue: 128)
}
