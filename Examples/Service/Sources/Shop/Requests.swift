// The work of each request. Each request runs in its own context and returns values, because
// objects must not leave their context.

public import Hummingbird
import Perdure

/// A product as clients see it.
public struct ProductView: ResponseCodable, Equatable, Sendable {
  /// The name.
  public var name: String
  /// The number of remaining pieces.
  public var stock: Int
  /// The number of pieces that were ordered.
  public var sold: Int

  init(_ product: Product) { (name, stock, sold) = (product.name, product.stock, product.sold) }
}

extension PersistentContainer {
  /// All products, by name.
  func products() async throws -> [ProductView] {
    try await performBackgroundTask { context in
      try context.fetch(Product.self, order: [FetchOrder(\Product.name)]).map(ProductView.init)
    }
  }

  /// One product; status 404 if no product has this name.
  func product(named name: String) async throws -> ProductView {
    try await performBackgroundTask { context in
      ProductView(try existingProduct(named: name, in: context))
    }
  }

  /// Adds a product, or sets its stock. The rules of the model check the name and the stock.
  func setStock(of name: String, to stock: Int) async throws -> ProductView {
    try await performAndSave { context in
      let product = try findProduct(named: name, in: context) ?? Product(context: context, name: name)
      product.stock = stock
      return ProductView(product)
    }
  }

  /// Orders pieces of a product; status 404 if no product has this name, and 409 if too few pieces
  /// are left. One save contains the order and the new stock.
  func order(_ count: Int, of name: String) async throws -> ProductView {
    try await performAndSave { context in
      let product = try existingProduct(named: name, in: context)
      guard product.stock >= count else {
        throw HTTPError(.conflict, message: "Only \(product.stock) of \(name) are left.")
      }
      product.stock -= count
      _ = Order(context: context, count: count, product: product)
      return ProductView(product)
    }
  }
}

private func findProduct(named name: String, in context: ManagedObjectContext) throws -> Product? {
  try context.fetch(Product.self, limit: 1) { $0.name == name }.first
}

private func existingProduct(named name: String, in context: ManagedObjectContext) throws -> Product {
  guard let product = try findProduct(named: name, in: context) else {
    throw HTTPError(.notFound, message: "There is no product named \(name).")
  }
  return product
}
