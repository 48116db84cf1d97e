// A shop with products and orders, as an HTTP service.
//
//     GET  /products                 all products, by name
//     GET  /products/pen             one product
//     PUT  /products/pen             {"stock": 20}: adds the product, or sets its stock
//     POST /products/pen/orders      {"count": 2}: 201, or 409 if too few are left

public import Hummingbird
public import Perdure

/// What the shop sells.
@Entity
public final class Product: ManagedObject {
  /// The name, as in the path of a request.
  @Attribute(.unique) public var name: String
  /// How many are left. A save refuses a number below 0.
  @Attribute(.minimum(0)) public var stock: Int = 0
  /// All orders of the product.
  @Relationship(inverse: "product", deleteRule: .cascade) public var orders: ToMany<Order>
  /// How many were ordered.
  @Attribute(derived: "orders.@sum.count") public private(set) var sold: Int
}

/// An order of one product.
@Entity
public final class Order: ManagedObject {
  /// How many were ordered.
  public var count: Int = 0
  /// What was ordered.
  @Relationship(inverse: "orders") public var product: Product?
}

/// A product as clients see it. Objects do not leave their context; values do.
public struct ProductView: ResponseCodable, Equatable, Sendable {
  /// The name.
  public var name: String
  /// How many are left.
  public var stock: Int
  /// How many were ordered.
  public var sold: Int

  init(_ product: Product) { (name, stock, sold) = (product.name, product.stock, product.sold) }
}

struct StockRequest: Decodable { var stock: Int }
struct OrderRequest: Decodable { var count: Int }

/// The container of the service. Make one for the process, and load it before requests arrive.
///
/// - Parameter path: The directory of the store.
/// - Throws: What `loadPersistentStores()` throws.
public func makeShop(at path: String) throws -> PersistentContainer {
  let container = try PersistentContainer(
    name: "Shop", classes: [Product.self, Order.self], at: path)
  try container.loadPersistentStores()
  return container
}

/// The routes of the service. Each request gets a context of its own.
///
/// - Parameter container: Loaded before the service starts.
public func makeRouter(_ container: PersistentContainer) -> Router<BasicRequestContext> {
  let router = Router()
  let products = router.group("products")
  products.get { _, _ in
    try await container.performBackgroundTask { context in
      try context.fetch(Product.self, order: [FetchOrder(\Product.name)]).map(ProductView.init)
    }
  }
  products.get(":name") { _, context in
    let name = try context.parameters.require("name")
    return try await container.performBackgroundTask { ProductView(try product(named: name, in: $0)) }
  }
  products.put(":name") { request, context in
    let name = try context.parameters.require("name")
    let body = try await request.decode(as: StockRequest.self, context: context)
    return try await container.setStock(of: name, to: body.stock)
  }
  products.post(":name/orders") { request, context in
    let name = try context.parameters.require("name")
    let body = try await request.decode(as: OrderRequest.self, context: context)
    return EditedResponse(status: .created, response: try await container.order(body.count, of: name))
  }
  return router
}

extension PersistentContainer {
  /// Adds a product, or sets its stock.
  fileprivate func setStock(of name: String, to stock: Int) async throws -> ProductView {
    guard stock >= 0 else { throw HTTPError(.badRequest, message: "stock must be 0 or more") }
    return try await performAndSave { context in
      let product = try find(name, in: context) ?? Product(context: context, name: name)
      product.stock = stock
      return ProductView(product)
    }
  }

  /// Orders some of a product, if that many are left.
  fileprivate func order(_ count: Int, of name: String) async throws -> ProductView {
    guard count > 0 else { throw HTTPError(.badRequest, message: "count must be 1 or more") }
    return try await performAndSave { context in
      let product = try product(named: name, in: context)
      guard product.stock >= count else {
        throw HTTPError(.conflict, message: "only \(product.stock) of \(name) are left")
      }
      product.stock -= count
      _ = Order(context: context, count: count, product: product)
      return ProductView(product)
    }
  }
}

private func find(_ name: String, in context: ManagedObjectContext) throws -> Product? {
  try context.fetch(Product.fetchRequest { $0.name == name }).first
}

private func product(named name: String, in context: ManagedObjectContext) throws -> Product {
  guard let product = try find(name, in: context) else {
    throw HTTPError(.notFound, message: "There is no product named \(name).")
  }
  return product
}

extension PersistentContainer {
  /// Runs `body` in a new context, saves, and repeats both while another request has changed the
  /// same values. So `body` must have no other effects.
  func performAndSave<T: Sendable>(
    attempts: Int = 100, _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    var attempt = 1
    while true {
      do {
        return try await performBackgroundTask { context in
          let result = try body(context)
          try context.save()
          return result
        }
      } catch let error as PerdureError where Self.isConflict(error) && attempt < attempts {
        attempt += 1  // The next context sees the save that was faster.
      } catch let error as PerdureError where error.code == .mergeConflict {
        throw HTTPError(.serviceUnavailable, message: "too many requests change the same product")
      }
    }
  }

  /// Another request has changed the same property, or has added a product of the same name.
  private static func isConflict(_ error: PerdureError) -> Bool {
    error.code == .mergeConflict || error.code == .constraintConflict
  }
}
