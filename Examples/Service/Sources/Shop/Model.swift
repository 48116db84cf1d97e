public import Perdure

/// A product of the shop.
@Entity
public final class Product: ManagedObject {
  /// The name, as in the path of a request.
  @Attribute(.unique, .length(1...40)) public var name: String
  /// The number of remaining pieces. A save rejects a number out of range.
  @Attribute(.minimum(0), .maximum(1_000_000)) public var stock: Int = 0
  /// All orders of the product.
  @Relationship(inverse: "product", deleteRule: .cascade) public var orders: ToMany<Order>
  /// The number of pieces that were ordered. It has an index, so the store maintains the sum, and a
  /// read does not visit the orders.
  @Attribute(.indexed, derived: "orders.count.@sum") public private(set) var sold: Int
}

/// An order of one product.
@Entity
public final class Order: ManagedObject {
  /// The number of pieces.
  @Attribute(.minimum(1)) public var count: Int = 1
  /// The product, which every order has.
  @Relationship(inverse: "orders", optional: false) public var product: Product?
}

/// Makes the container of the service and opens its store. Call it once in a process, before
/// requests arrive.
///
/// - Parameter path: The directory of the store. It is created if it does not exist.
/// - Returns: A container that every task may use, until `close()`.
/// - Throws: The errors of `loadPersistentStores()`, for example if another process has the store
///   open.
public func makeShop(at path: String) throws -> PersistentContainer {
  let container = try PersistentContainer(
    name: "Shop", classes: [Product.self, Order.self], at: path)
  try container.loadPersistentStores()
  return container
}
