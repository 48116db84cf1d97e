// A shop with products and orders, as an HTTP service:
//
//     GET  /products               all products, by name
//     GET  /products/pen           one product
//     PUT  /products/pen           {"stock": 20}: adds the product, or sets its stock
//     POST /products/pen/orders    {"count": 2}: 201, or 409 if too few are left

public import Hummingbird
public import Perdure

private struct StockRequest: Decodable { var stock: Int }
private struct OrderRequest: Decodable { var count: Int }

/// Makes the routes of the service.
///
/// - Parameter container: The container, with its store open. The caller closes it after the
///   service has ended.
/// - Returns: The routes. They answer errors with a status and a message as JSON.
public func makeRouter(_ container: PersistentContainer) -> Router<BasicRequestContext> {
  let router = Router()
  router.add(middleware: ErrorStatuses())
  let products = router.group("products")
  products.get { _, _ in try await container.products() }
  products.get(":name") { _, context in
    try await container.product(named: try context.parameters.require("name"))
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
