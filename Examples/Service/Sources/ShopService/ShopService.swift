import ArgumentParser
import Foundation
import Hummingbird
import NIOCore
import Perdure
import Shop

@main
struct ShopService: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Serves a shop over HTTP.")

  @Option(help: "The port to listen on. 0: the system chooses a free one.") var port = 8080
  @Option(help: "The directory of the store.") var store = "Shop.perdure"

  func run() async throws {
    let container = try makeShop(at: store)
    let application = Application(
      router: makeRouter(container),
      configuration: .init(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: Self.reportPort)
    // Returns after SIGTERM or SIGINT, when all requests are answered.
    try await application.runService()
    try container.close()
  }

  /// Prints the port. It does not use `print`, which buffers the line if the output is a pipe.
  @Sendable private static func reportPort(_ channel: any Channel) {
    let line = "Serving on port \(channel.localAddress?.port ?? 0)\n"
    FileHandle.standardOutput.write(Data(line.utf8))
  }
}
