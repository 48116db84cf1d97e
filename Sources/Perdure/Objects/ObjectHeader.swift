// What an object is made of besides its class: a header at a fixed address, and a copy of its row.
//
// The header lies behind a `let` pointer, so that reading it costs loads and no check of exclusive access.
// The row is copied out of the store when a fault fires: an object pins nothing in the store, however long
// it lives. Both lie in the memory of the object's context (ObjectMemory.swift).
//
// Invariants:
//   H1. `epoch == memory.pointee.epoch` means: `row` is the object's row at the context's view, checked, in the
//       layout whose fields stand before it, and no column of it has an unsaved change. So one comparison
//       decides whether a field may be read at once. A context's epoch is never 0; it changes when its view
//       does.
//   H2. `overlay` is the tracker's entry for `reference`, or nil when there is none.
//   H3. `groupNumber` and `groupPosition` say in which sibling group the object was handed out last. They are a
//       hint: whoever follows it looks whether the group still is there and has the reference in that place. An
//       instance whose group is no walk retains it (G3 in SiblingGroup.swift).

// There are as many headers as objects, so a header takes 80 bytes, and with its instance, which is a pointer to it,
// and its place in the identity map no more than 160.

internal import PerdurePredicates

/// The state of an object that its accessors read.
@usableFromInline
struct ObjectHeader {
  /// The epoch in which `row` was last compared with the view (H1), with `shutBit` if the row may not
  /// be read at once; 0 without a row.
  @usableFromInline var epoch: UInt64 = 0
  @usableFromInline let memory: UnsafeMutablePointer<ObjectMemory>
  // The context keeps it alive.
  private(set) var shape: Unmanaged<EntityShape>
  private(set) var reference: ObjectReference
  /// In its block, behind its version and the address of its layout's fields.
  @usableFromInline private(set) var row: UnsafeMutableRawPointer?
  var overlay: Unmanaged<ObjectOverlay>?
  /// What the transient attributes hold; nil while all have their defaults. The instance releases it.
  var transients: Unmanaged<TransientValues>?
  /// Where its relationships lead, as far as that is kept.
  @usableFromInline var kept: UnsafeMutablePointer<KeptRelations>?
  var groupNumber: UInt32 = 0
  var groupPosition: UInt32 = 0
  /// One less than the length of the row, which is 1 to 2³² bytes (`FormatLimits.blobLengthMax`).
  @usableFromInline var lastRowOffset: UInt32 = 0
  @usableFromInline let slotCount: UInt16
  /// What the object has been told of its row (W1 in ObjectHooks.swift).
  var wakefulness: Wakefulness = []
  /// What `savedState`, `isKept` and `isAskedAgain` say: all that is left of the 80 bytes.
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

  /// The new object gets another identity, of the same entity in another store.
  mutating func move(to reference: ObjectReference, _ shape: EntityShape) {
    self.reference = reference
    self.shape = .passUnretained(shape)
  }

  /// Whether it is gone because another context removed its row.
  var hasVanished: Bool {
    get { wakefulness.contains(.vanished) }
    set { if newValue { wakefulness.insert(.vanished) } else { wakefulness.remove(.vanished) } }
  }

  /// What a save has made of the object, while `didSave` is running.
  var savedState: ObjectState? {
    get { marks.savedState }
    set { marks.savedState = newValue }
  }

  /// Whether something kept points to the instance (L3 in KeptRelations.swift).
  @inline(__always)
  var isKept: Bool {
    get { marks.isKept }
    set { marks.isKept = newValue }
  }

  /// Notes that somebody asks where a relationship leads.
  ///
  /// - Returns: Whether somebody has, since links last changed. Now and then so of another relationship or another time: it
  ///   decides when it pays to keep something, and nothing else.
  @inline(__always)
  mutating func isAskedAgain(_ slot: Int) -> Bool { marks.ask(slot, at: memory.pointee.linkStamp) }

  @inlinable var rowLength: Int {
    @inline(__always) get { Int(lastRowOffset) + 1 }
  }

  /// What stands before a row: the version, and the address of the fields.
  private static var prefixByteCount: Int { fieldsOffset + MemoryLayout<UnsafePointer<RowField>>.size }

  private static var fieldsOffset: Int { MemoryLayout<RowVersion>.size }

  /// The version of the row that was loaded; there must be one.
  var version: RowVersion {
    guard let row else { preconditionFailure("A row that was not loaded has no version here.") }
    return (row - Self.prefixByteCount).load(as: RowVersion.self)
  }

  /// Whether the row may be read as it is (H1).
  @inlinable @inline(__always)
  var isReady: Bool { epoch == memory.pointee.epoch }

  /// Set in the epoch of a row that accessors may not read at once. No epoch of a context has it.
  private static let shutBit: UInt64 = 1 << 63

  /// Whether the row is that of the context's view, even if it may not be read at once.
  @inline(__always)
  var isCurrent: Bool { epoch & ~Self.shutBit == memory.pointee.epoch }

  /// From now on accessors do not read the row at once. Whether it is current stays known.
  @inline(__always)
  mutating func shut() { if epoch != 0 { epoch |= Self.shutBit } }

  /// The row that was loaded, whatever its age.
  @inlinable @inline(__always)
  var loadedRow: RowView? {
    guard let row else { return nil }
    let fields = (row - MemoryLayout<UnsafePointer<RowField>>.size).load(as: UnsafePointer<RowField>.self)
    return RowView(base: UnsafeRawPointer(row), count: rowLength, fields: fields)
  }

  /// The row that was loaded if it is one of the store's, of a version, as far as nobody has set a primitive.
  func row(ofVersion version: RowVersion) -> RowView? {
    guard row != nil, !wakefulness.contains(.altered), self.version == version else { return nil }
    return loadedRow
  }

  /// Takes over a copy of a checked row.
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

  /// Forgets a row that is not as the store has it.
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

  /// Gives the header and its row back.
  @inline(__always)
  func free() {
    let memory = pointee.memory
    pointee.freeRow()
    deinitialize(count: 1)
    memory.pointee.deallocate(self, byteCount: MemoryLayout<ObjectHeader>.size)
  }
}

extension RowView {
  /// A row that was checked before.
  @inlinable @inline(__always)
  init(base: UnsafeRawPointer, count: Int, fields: UnsafePointer<RowField>) {
    self.base = base
    self.count = count
    self.fields = fields
  }
}
