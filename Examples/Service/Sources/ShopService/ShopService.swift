import ArgumentParser
import Hummingbird
import Shop

@main
struct ShopService: AsyncParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Serves a shop over HTTP.")

  @Option(help: "The port to listen on.") var port = 8080
  @Option(help: "The directory of the store.") var store = "Shop.perdure"

  func run() async throws {
    let container = try makeShop(at: store)
    let application = Application(
      router: makeRouter(container), configuration: .init(address: .hostname("127.0.0.1", port: port)))
    // Returns after SIGTERM or SIGINT, when the requests in progress are answered.
    try await application.runService()
    try container.close()
  }
}
