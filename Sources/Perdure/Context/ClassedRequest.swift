// A request with the class of its objects as a value.
//
// The compiler does not specialize this module's generic functions for a class of the program.
// Without specialization, every array, closure and iterator looks up its metadata at run time. This
// took a third of the time of a fetch. Therefore only the public functions are generic. They pass
// the class as a value to the functions that they call.

/// A request and the class of its objects.
struct ClassedRequest {
  let request: FetchRequest<ManagedObject>
  let objectClass: ManagedObject.Type
  /// Whether a class is the class of the request, or a subclass of it.
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

  /// Stops the program if an object does not have the class of the request.
  @inline(__always)
  func check(_ object: ManagedObject) {
    // Compares with the class itself first: usually they are equal, and the check for a subclass is
    // slower.
    if type(of: object) == objectClass || accepts(type(of: object)) { return }
    object.stopAsOtherClass(objectClass)
  }
}
