import Foundation
import Hummingbird
import HummingbirdTesting
import NIOCore
import Perdure
import Shop
import Testing

@Suite("The shop as a service")
struct ShopTests {
  private let folder: URL

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "perdure-shop-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  private func json(_ text: String) -> ByteBuffer { ByteBuffer(string: text) }

  @Test("Two hundred clients buy what is there, and not one more")
  func load() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "store").path
    let container = try makeShop(at: path)
    let application = Application(router: makeRouter(container))
    let bought = try await application.test(.ahc(.http)) { client in
      try await client.execute(uri: "/products/pen", method: .put, body: json(#"{"stock": 1500}"#)) {
        #expect($0.status == .ok)
      }
      return try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<200 {
          group.addTask { try await buy(10, number, client) }
        }
        return try await group.reduce(0, +)
      }
    }
    #expect(bought == 1500)
    try container.close()
    let again = try makeShop(at: path)
    let products = try again.newContext().fetch(Product.fetchRequest())
    #expect(products.map(\.stock) == [0] && products.map(\.sold) == [1500])
    try again.close()
  }

  /// Orders one pen at a time, and reads between. Returns the number of pens that were sold.
  private func buy(_ count: Int, _ number: Int, _ client: any TestClientProtocol) async throws -> Int {
    var bought = 0
    for _ in 0..<count {
      let status = try await client.execute(
        uri: "/products/pen/orders", method: .post, body: json(#"{"count": 1}"#)
      ) { $0.status }
      #expect(status == .created || status == .conflict)
      if status == .created { bought += 1 }
      try await client.execute(uri: "/products/pen", method: .get) { response in
        let view = try JSONDecoder().decode(ProductView.self, from: Data(buffer: response.body))
        #expect(view.stock + view.sold == 1500)
      }
    }
    return bought
  }

  @Test("Bad requests are answered with the reason, and change nothing")
  func badRequests() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let container = try makeShop(at: folder.appending(path: "store").path)
    let application = Application(router: makeRouter(container))
    try await application.test(.router) { client in
      for (uri, method, body, status) in [
        ("/products/pen", .get, "", .notFound), ("/products/pen/orders", .post, #"{"count": 1}"#, .notFound),
        ("/products/pen", .put, "{", .badRequest),
        ("/products/pen/orders", .post, #"{"count": 0}"#, .badRequest),
      ] as [(String, HTTPRequest.Method, String, HTTPResponse.Status)] {
        try await client.execute(uri: uri, method: method, body: json(body)) {
          #expect($0.status == status, "\(uri)")
        }
      }
      try await client.execute(uri: "/products", method: .get) { #expect(String(buffer: $0.body) == "[]") }
    }
    try container.close()
  }

  @Test("A service that is killed under load has every order that it answered")
  func killed() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "store").path
    var sold = 0
    for round in 1...3 {
      let port = Int.random(in: 20_000..<60_000)
      let service = try start(port, path)
      defer { kill(service.processIdentifier, SIGKILL) }
      try await waitUntilServing(port)
      let answered = await orders(port, service, killAfter: 60 * round)
      service.waitUntilExit()
      let container = try makeShop(at: path)
      let found = try container.newContext().fetch(Product.fetchRequest()).first?.sold ?? 0
      // Each of the 20 clients may have had one order without an answer.
      #expect((sold + answered...sold + answered + 20).contains(found), "round \(round)")
      sold = found
      try container.close()
    }
    #expect(sold >= 360)
  }

  private func start(_ port: Int, _ path: String) throws -> Process {
    let service = Process()
    let tests = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
    service.executableURL = tests.deletingLastPathComponent().appending(path: "ShopService")
    service.arguments = ["--port", "\(port)", "--store", path]
    service.standardOutput = FileHandle.nullDevice
    service.standardError = FileHandle.nullDevice
    try service.run()
    return service
  }

  private func waitUntilServing(_ port: Int) async throws {
    for _ in 0..<600 {
      let isServing = try? await TestClient.withClient(host: "127.0.0.1", port: port) { client in
        let request = TestClient.Request(
          "/products/pen", method: .put, headers: [:], body: ByteBuffer(string: #"{"stock": 100000}"#))
        return try await client.execute(request).status == .ok
      }
      if isServing == true { return }
      try await Task.sleep(for: .milliseconds(100))
    }
    Issue.record("the service does not answer")
  }

  /// Orders from 20 clients until the service is killed. Returns the number of orders that it answered.
  private func orders(_ port: Int, _ service: Process, killAfter count: Int) async -> Int {
    let answered = Answers()
    let identifier = service.processIdentifier
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<20 {
        group.addTask {
          try? await TestClient.withClient(host: "127.0.0.1", port: port) { client in
            while true {
              let request = TestClient.Request(
                "/products/pen/orders", method: .post, headers: [:],
                body: ByteBuffer(string: #"{"count": 1}"#))
              guard try await client.execute(request).status == .created else { return }
              if await answered.add() == count { kill(identifier, SIGKILL) }
            }
          }
        }
      }
    }
    return await answered.count
  }
}

private actor Answers {
  private(set) var count = 0

  func add() -> Int {
    count += 1
    return count
  }
}
