// The memory of an object besides its instance: a header at a fixed address, and a copy of its row.
//
// A `let` pointer refers to the header, so reading the header needs no check of exclusive access.
// The row is copied from the store when a fault fires. So an object pins nothing in the store, even
// if the object is long-lived. Header and row are in the memory of the object's context
// (ObjectMemory.swift).
//
// Invariants:
//   H1. If `epoch == memory.pointee.epoch`, `row` is the object's row in the context's view. The
//       row was checked. The address of its layout's fields is stored in the bytes before the row.
//       No column of the row has an unsaved change. So one comparison decides whether accessors may
//       read a field directly. A context's epoch is never 0, and changes with its view.
//   H2. `overlay` is the entry of `PendingChanges` for `reference`; nil if there is none.
//   H3. `groupNumber` and `groupPosition` identify the sibling group that last returned the object.
//       They are hints: the reader checks that the group still exists, and that it has the
//       reference at this position. An instance retains its group, unless the kind of the group is
//       `walk` (GS3 in SiblingGroup.swift).

// There are as many headers as objects, so a header has only 80 bytes. An instance contains only a
// pointer to its header. Header, instance and entry in the identity map take at most 160 bytes.

internal import PerdurePredicates

/// The state of an object that its accessors read.
@usableFromInline
struct ObjectHeader {
  /// The epoch in which `row` was last compared with the view (H1); 0 without a row. `shutBit` is
  /// set in it if accessors must not read the row directly.
  @usableFromInline var epoch: UInt64 = 0
  @usableFromInline let memory: UnsafeMutablePointer<ObjectMemory>
  // The context retains the shape.
  private(set) var shape: Unmanaged<EntityShape>
  private(set) var reference: ObjectReference
  /// The bytes of the row; nil if no row is loaded. The version and the address of the layout's
  /// fields are stored before these bytes, in the same memory block.
  @usableFromInline private(set) var row: UnsafeMutableRawPointer?
  var overlay: Unmanaged<ObjectOverlay>?
  /// The values of the transient attributes; nil while all have their defaults. The deinit of the
  /// instance releases the `TransientValues`.
  var transients: Unmanaged<TransientValues>?
  /// The cached relationships of the object.
  @usableFromInline var kept: UnsafeMutablePointer<KeptRelations>?
  var groupNumber: UInt32 = 0
  var groupPosition: UInt32 = 0
  /// The length of the row minus 1. A row has 1 to 2³² bytes (`FormatLimits.blobLengthMax`).
  @usableFromInline var lastRowOffset: UInt32 = 0
  @usableFromInline let slotCount: UInt16
  /// The state of the hooks that depend on the row (OH1 in ObjectHooks.swift).
  var wakefulness: Wakefulness = []
  /// The values of `savedState`, `isKept` and `wasReadBefore`. They share one byte, so that a
  /// header needs only 80 bytes.
  private var marks = HeaderMarks()

  /// Whether the object is gone (`ObjectState.gone`).
  @inline(__always)
  var isGone: Bool { wakefulness.contains(.gone) }

  init(
    _ reference: ObjectReference, _ shape: EntityShape, in memory: UnsafeMutablePointer<ObjectMemory>
  ) {
    self.reference = reference
    self.shape = .passUnretained(shape)
    slotCount = UInt16(shape.slotCount)
    self.memory = memory
  }

  /// Sets another identity of the same entity, possibly in another store.
  mutating func move(to reference: ObjectReference, _ shape: EntityShape) {
    self.reference = reference
    self.shape = .passUnretained(shape)
  }

  /// Whether the object is gone and counts as deleted. Another context removed its row, or it was
  /// new and was deleted or merged into another object.
  var hasVanished: Bool {
    get { wakefulness.contains(.vanished) }
    set { if newValue { wakefulness.insert(.vanished) } else { wakefulness.remove(.vanished) } }
  }

  /// The state of the object before a save, while `didSave` is running.
  var savedState: ObjectState? {
    get { marks.savedState }
    set { marks.savedState = newValue }
  }

  /// Whether a cached relationship refers to the instance (KR3 in KeptRelations.swift).
  @inline(__always)
  var isKept: Bool {
    get { marks.isKept }
    set { marks.isKept = newValue }
  }

  /// Notes that a relationship is read.
  ///
  /// - Returns: Whether the relationship was already read after the last change of links. The
  ///   result may be wrong, because several relationships share a bit. It only decides whether
  ///   caching is worthwhile.
  @inline(__always)
  mutating func wasReadBefore(_ slot: Int) -> Bool { marks.noteRead(slot, at: memory.pointee.linkStamp) }

  @inlinable var rowLength: Int {
    @inline(__always) get { Int(lastRowOffset) + 1 }
  }

  /// The size of the data before a row: the version, and the address of the fields.
  private static var prefixByteCount: Int { fieldsOffset + MemoryLayout<UnsafePointer<RowField>>.size }

  private static var fieldsOffset: Int { MemoryLayout<RowVersion>.size }

  /// The version of the loaded row. There must be a row.
  var version: RowVersion {
    guard let row else { preconditionFailure("A row that was not loaded has no version here.") }
    return (row - Self.prefixByteCount).load(as: RowVersion.self)
  }

  /// Whether accessors may read the row directly (H1).
  @inlinable @inline(__always)
  var isReady: Bool { epoch == memory.pointee.epoch }

  /// A bit in the epoch of a row that accessors must not read directly. No context's epoch has it.
  private static let shutBit: UInt64 = 1 << 63

  /// Whether the row is that of the context's view, even if accessors must not read it directly.
  @inline(__always)
  var isCurrent: Bool { epoch & ~Self.shutBit == memory.pointee.epoch }

  /// Prevents accessors from reading the row directly. `isCurrent` does not change.
  @inline(__always)
  mutating func shut() { if epoch != 0 { epoch |= Self.shutBit } }

  /// The loaded row, even if it is outdated.
  @inlinable @inline(__always)
  var loadedRow: RowView? {
    guard let row else { return nil }
    let fields = (row - MemoryLayout<UnsafePointer<RowField>>.size).load(as: UnsafePointer<RowField>.self)
    return RowView(base: UnsafeRawPointer(row), count: rowLength, fields: fields)
  }

  /// The loaded row, if it is the store's row with this version. Nil if a primitive value was set.
  func row(ofVersion version: RowVersion) -> RowView? {
    guard row != nil, !wakefulness.contains(.altered), self.version == version else { return nil }
    return loadedRow
  }

  /// Sets the row to a copy of a checked row.
  @inline(__always)
  mutating func setRow(_ view: RowView, version: RowVersion) {
    if row != nil { dropRow() }
    let block = memory.pointee.allocate(byteCount: Self.prefixByteCount + view.count)
    block.storeBytes(of: version, as: RowVersion.self)
    block.storeBytes(of: view.fields, toByteOffset: Self.fieldsOffset, as: UnsafePointer<RowField>.self)
    let copy = block + Self.prefixByteCount
    copy.copyMemory(from: view.base, byteCount: view.count)
    row = copy
    lastRowOffset = UInt32(view.count - 1)
  }

  mutating func dropRow() {
    freeRow()
    row = nil
    epoch = 0
    wakefulness.subtract([.altered, .rewritten])
    if kept != nil { dropKept() }
    if isKept { memory.pointee.linkStamp &+= 1 }
  }

  @inline(__always)
  func freeRow() {
    guard let row else { return }
    memory.pointee.deallocate(
      row - Self.prefixByteCount, byteCount: Self.prefixByteCount + rowLength)
  }

  /// Drops a row that differs from the store's row.
  mutating func dropAlteredRow() {
    if wakefulness.contains(.altered) { dropRow() }
  }
}

extension UnsafeMutablePointer<ObjectHeader> {
  /// A new header.
  @inline(__always)
  static func make(
    _ reference: ObjectReference, _ shape: EntityShape, in memory: UnsafeMutablePointer<ObjectMemory>
  ) -> Self {
    let header = memory.pointee.allocate(byteCount: MemoryLayout<ObjectHeader>.size)
      .bindMemory(to: ObjectHeader.self, capacity: 1)
    header.initialize(to: ObjectHeader(reference, shape, in: memory))
    return header
  }

  /// Frees the header and its row.
  @inline(__always)
  func free() {
    let memory = pointee.memory
    pointee.freeRow()
    deinitialize(count: 1)
    memory.pointee.deallocate(self, byteCount: MemoryLayout<ObjectHeader>.size)
  }
}

extension RowView {
  /// Makes a view of a row that was checked before.
  @inlinable @inline(__always)
  init(base: UnsafeRawPointer, count: Int, fields: UnsafePointer<RowField>) {
    self.base = base
    self.count = count
    self.fields = fields
  }
}
