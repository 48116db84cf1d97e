// A request with the class of its objects as a value.
//
// What is generic over the class of a program runs unspecialised in that program: every array, closure and iterator
// looks for its metadata as it goes, which took a third of a fetch. So only the public functions are generic, and what
// they call knows classes as values.

/// A request, and which class its objects are to be of.
struct ClassedRequest {
  let request: FetchRequest<ManagedObject>
  let objectClass: ManagedObject.Type
  /// Whether objects of a class are of that class too.
  let accepts: (ManagedObject.Type) -> Bool

  init<T: ManagedObject>(_ request: FetchRequest<T>) {
    self.request = request.anyRoot()
    objectClass = T.self
    accepts = { $0 is T.Type }
  }

  /// - Parameter request: A request of any class.
  init<T: ManagedObject>(_ request: FetchRequest<ManagedObject>, of type: T.Type) {
    self.request = request
    objectClass = type
    accepts = { $0 is T.Type }
  }

  /// Makes sure that an object is what the request promises.
  @inline(__always)
  func check(_ object: ManagedObject) {
    // Nearly always the class itself, which is cheaper to tell than a subclass.
    if type(of: object) == objectClass || accepts(type(of: object)) { return }
    object.stopAsOtherClass(objectClass)
  }
}
