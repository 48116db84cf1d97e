import ArgumentParser
import Foundation
import PerdureLog
import PerdureProving

/// The command that the child processes of the `kills` campaign run.
struct KillChildCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "kill-child", shouldDisplay: false)

  enum Role: String, ExpressibleByArgument {
    case write, read, fill
    case writeEarly = "write-early"
    case readNothing = "read-nothing"
  }

  @Argument var role: Role
  @Argument var directory: String
  @Argument var seed: UInt64
  @Argument var durability: Int

  func run() throws {
    KillChild.endLater()
    switch role {
    case .read: try KillChild.read(directory, seed: seed)
    case .readNothing: KillChild.readNothing()
    case .fill: try KillChild.fill(directory)
    case .write, .writeEarly:
      guard let durability = Durability(rawValue: durability) else {
        throw ValidationError("\(self.durability) is not the number of a durability.")
      }
      try KillChild.write(directory, seed: seed, durability, isEarly: role == .writeEarly)
    }
  }
}
