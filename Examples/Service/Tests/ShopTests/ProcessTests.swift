import Foundation
import Hummingbird
import Perdure
import Shop
import Testing

/// Tests that start the program and end it.
@Suite("The process of the service", .serialized)
struct ProcessTests {
  private static let clientCount = 20
  private static let stock = 100_000

  @Test("A service that is killed under load keeps every order that it answered")
  func killed() async throws {
    let folder = try TemporaryFolder()
    var sold = 0
    for round in 1...3 {
      let service = try ServiceProcess(storePath: folder.storePath)
      defer { service.sendSIGKILL() }
      if round == 1 { try await HTTPClient.setStock(Self.stock, port: service.port) }
      let answered = await answeredOrders(of: service, killAfter: 60 * round)
      #expect(service.waitForEnd() == .killed)
      #expect(answered >= 60 * round)
      let found = try soldPens(at: folder.storePath)
      // For each client, one order may have been saved but not answered.
      #expect((sold + answered...sold + answered + Self.clientCount).contains(found), "round \(round)")
      try expectSold(found, left: Self.stock - found, at: folder.storePath)
      sold = found
    }
  }

  /// Sends orders from all clients until the service is killed. Returns the number of answered
  /// orders.
  private func answeredOrders(of service: ServiceProcess, killAfter count: Int) async -> Int {
    let answers = Counter()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<Self.clientCount {
        group.addTask {
          // Ignores the error of the connection, which the kill closes.
          try? await HTTPClient.with(port: service.port) { client in
            while try await client.orderOne() == .created {
              if await answers.increment() == count { service.sendSIGKILL() }
            }
          }
        }
      }
    }
    service.sendSIGKILL()
    return await answers.count
  }

  @Test("A service that gets SIGTERM closes its store and ends without an error")
  func terminated() async throws {
    let folder = try TemporaryFolder()
    let service = try ServiceProcess(storePath: folder.storePath)
    defer { service.sendSIGKILL() }
    try await HTTPClient.setStock(2, port: service.port)
    let status = try await HTTPClient.with(port: service.port) { try await $0.orderOne() }
    #expect(status == .created)
    service.sendSIGTERM()
    #expect(service.waitForEnd() == .exited(0))
    try expectSold(1, left: 1, at: folder.storePath)
  }

  @Test("A second service on the same store is refused")
  func second() throws {
    let folder = try TemporaryFolder()
    let service = try ServiceProcess(storePath: folder.storePath)
    defer { service.sendSIGKILL() }
    #expect(throws: PerdureError.self) { try makeShop(at: folder.storePath) }
  }
}

private actor Counter {
  private(set) var count = 0

  func increment() -> Int {
    count += 1
    return count
  }
}
