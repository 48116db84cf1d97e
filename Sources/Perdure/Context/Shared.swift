/// A value that several parts of a context share.
///
/// A group of parts is a structure with a reference to each part. A copy of it retains all of them.
/// Parts that a context rarely uses share one copy. So a context costs less to create.
@propertyWrapper @dynamicMemberLookup
struct Shared<Value> {
  private final class Box {
    let value: Value

    init(_ value: Value) { self.value = value }
  }

  private let box: Box

  init(_ value: Value) { box = Box(value) }

  var wrappedValue: Value {
    @inline(__always) _read { yield box.value }
  }

  subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> Member {
    box.value[keyPath: member]
  }
}
