// A request with the class of its objects as a value.
//
// The compiler does not specialize this module's generic functions for a class of the program.
// Every array, closure and iterator then looks up its metadata at run time, which took a third of a
// fetch. Therefore only the public functions are generic. The functions that they call use classes
// as values.

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
    // Usually the object has the class itself. This check is faster than the check for a subclass.
    if type(of: object) == objectClass || accepts(type(of: object)) { return }
    object.stopAsOtherClass(objectClass)
  }
}
