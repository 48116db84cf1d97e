import Foundation
import Hummingbird
import HummingbirdTesting
import NIOCore
import Perdure
import Shop
import Testing

@Suite("The shop as a service", .serialized)
struct ShopTests {
  private static let clientCount = 200
  private static let orderCount = 10
  private static let stock = 1500

  @Test("200 clients order 2,000 pens, and exactly the 1,500 pens in stock are sold")
  func load() async throws {
    let folder = try TemporaryFolder()
    let container = try makeShop(at: folder.storePath)
    let application = Application(router: makeRouter(container))
    let sold = try await application.test(.live) { client in
      let port = try #require(client.port)
      try await HTTPClient.setStock(Self.stock, port: port)
      return try await Self.soldToClients(port)
    }
    #expect(sold == Self.stock)
    try container.close()
    try expectSold(Self.stock, left: 0, at: folder.storePath)
  }

  /// Sends orders from all clients at the same time, each over its own connection. Returns the
  /// number of accepted orders.
  private static func soldToClients(_ port: Int) async throws -> Int {
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<clientCount {
        group.addTask { try await HTTPClient.with(port: port) { try await buy($0) } }
      }
      return try await group.reduce(0, +)
    }
  }

  /// Orders one pen at a time. The read after each order shows the stock and the sold pens of the
  /// same commit.
  private static func buy(_ client: HTTPClient) async throws -> Int {
    var bought = 0
    for _ in 0..<orderCount {
      let status = try await client.orderOne()
      #expect(status == .created || status == .conflict)
      if status == .created { bought += 1 }
      let view = try await client.product()
      #expect(view.stock + view.sold == stock && view.sold >= bought)
    }
    return bought
  }

  @Test("A product that 200 clients add at the same time is added once")
  func sameProduct() async throws {
    let folder = try TemporaryFolder()
    let container = try makeShop(at: folder.storePath)
    let application = Application(router: makeRouter(container))
    try await application.test(.live) { client in
      let port = try #require(client.port)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<Self.clientCount {
          group.addTask { try await HTTPClient.setStock(5, port: port) }
        }
        try await group.waitForAll()
      }
    }
    try container.close()
    try expectSold(0, left: 5, at: folder.storePath)
  }

  private struct BadRequest: CustomTestStringConvertible, Sendable {
    var uri: String
    var method: HTTPRequest.Method
    var body: String
    var status: HTTPResponse.Status
    var reason: String

    var testDescription: String { "\(method) \(uri) \(body)" }
  }

  private static let badRequests = [
    BadRequest(
      uri: "/products/cup", method: .get, body: "", status: .notFound,
      reason: "There is no product named cup."),
    BadRequest(
      uri: "/products/cup/orders", method: .post, body: #"{"count": 1}"#, status: .notFound,
      reason: "There is no product named cup."),
    BadRequest(
      uri: "/products/pen/orders", method: .post, body: #"{"count": 4}"#, status: .conflict,
      reason: "Only 3 of pen are left."),
    BadRequest(
      uri: "/products/pen/orders", method: .post, body: #"{"count": 0}"#, status: .badRequest,
      reason: "count must be at least 1"),
    BadRequest(
      uri: "/products/pen", method: .put, body: #"{"stock": -1}"#, status: .badRequest,
      reason: "stock must be at least 0"),
    BadRequest(uri: "/products/pen", method: .put, body: "{", status: .badRequest, reason: "not valid"),
    BadRequest(
      uri: "/products/" + String(repeating: "a", count: 41), method: .put, body: #"{"stock": 1}"#,
      status: .badRequest, reason: "name must have a length of at most 40"),
  ]

  @Test("A bad request is answered with a status and a reason, and changes nothing", arguments: badRequests)
  private func badRequest(_ bad: BadRequest) async throws {
    let folder = try TemporaryFolder()
    let container = try makeShop(at: folder.storePath)
    let application = Application(router: makeRouter(container))
    try await application.test(.router) { client in
      try await client.execute(
        uri: "/products/pen", method: .put, body: ByteBuffer(string: #"{"stock": 3}"#))
      try await client.execute(uri: bad.uri, method: bad.method, body: ByteBuffer(string: bad.body)) {
        #expect($0.status == bad.status)
        #expect(String(buffer: $0.body).contains(bad.reason))
      }
      try await client.execute(uri: "/products", method: .get) {
        let views = try JSONDecoder().decode([ProductView].self, from: Data($0.body.readableBytesView))
        #expect(views.map(\.name) == ["pen"] && views.map(\.stock) == [3] && views.map(\.sold) == [0])
      }
    }
    try container.close()
    try expectSold(0, left: 3, at: folder.storePath)
  }
}
