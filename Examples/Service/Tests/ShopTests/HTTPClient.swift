import Foundation
import Hummingbird
import HummingbirdTesting
import NIOCore
import Perdure
import Shop
import Testing

/// A client of the shop with its own connection.
struct HTTPClient: Sendable {
  private let client: TestClient

  /// Connects and runs `body`. The time limit of a request is long, so that no test fails on a slow
  /// machine.
  static func with<T: Sendable>(
    port: Int, _ body: @escaping @Sendable (HTTPClient) async throws -> T
  ) async throws -> T {
    try await TestClient.withClient(
      host: "localhost", port: port, configuration: .init(timeout: .seconds(600))
    ) { try await body(HTTPClient(client: $0)) }
  }

  /// Sets the stock of pens over a new connection.
  static func setStock(_ stock: Int, port: Int) async throws {
    let body = ByteBuffer(string: #"{"stock": \#(stock)}"#)
    let response = try await with(port: port) { try await $0.client.put("/products/pen", body: body) }
    #expect(response.status == .ok)
  }

  func orderOne() async throws -> HTTPResponse.Status {
    try await client.post("/products/pen/orders", body: ByteBuffer(string: #"{"count": 1}"#)).status
  }

  func product() async throws -> ProductView {
    let response = try await client.get("/products/pen")
    return try JSONDecoder().decode(
      ProductView.self, from: Data(try #require(response.body).readableBytesView))
  }
}

/// A folder that is removed when its last reference is released.
final class TemporaryFolder: Sendable {
  private let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appending(path: "perdure-shop-\(UUID())")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  // If the folder cannot be removed, the test does not fail.
  deinit { try? FileManager.default.removeItem(at: url) }

  var storePath: String { url.appending(path: "Shop.perdure").path }
}

/// Opens the store again, and returns the number of ordered pens.
func soldPens(at path: String) throws -> Int {
  let container = try makeShop(at: path)
  let sold = try container.newContext().fetch(Order.fetchRequest()).reduce(0) { $0 + $1.count }
  try container.close()
  return sold
}

/// Opens the store again, and checks its only product.
func expectSold(_ sold: Int, left stock: Int, at path: String) throws {
  let container = try makeShop(at: path)
  let products = try container.newContext().fetch(Product.fetchRequest())
  #expect(products.map(\.name) == ["pen"])
  #expect(products.map(\.stock) == [stock] && products.map(\.sold) == [sold])
  try container.close()
  #expect(try soldPens(at: path) == sold)
}
