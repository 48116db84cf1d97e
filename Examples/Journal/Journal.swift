// A journal that can be killed while it writes. After a restart, it has every entry that it
// reported.
//
//     swift run Journal            # prints the number of each entry when it is saved
//     pkill -9 -x Journal          # from another terminal, at any moment
//     swift run Journal            # prints how many entries it found, and continues
//
// `save()` returns when the entry is durable: it survives a kill and a power loss. If the program
// is killed between the save and the report, the last entry exists although it was not reported.

import Foundation
import Perdure

@Entity
final class Entry: ManagedObject {
  @Attribute(.unique) var number: Int
  var date: Date = Date()
  var text: String
}

@main
enum Program {
  static func main() throws {
    let path = CommandLine.arguments.dropFirst().first ?? "Journal.perdure"
    let container = try PersistentContainer(name: "Journal", classes: [Entry.self], at: path)
    try container.loadPersistentStores()
    let context = container.newContext()
    var request = Entry.fetchRequest()
    request.sortDescriptors = [FetchOrder(\Entry.number)]
    let entries = try context.fetch(request)
    for (index, entry) in entries.enumerated() where entry.number != index + 1 {
      report("Entry \(index + 1) is missing.")
      exit(1)
    }
    report("found \(entries.count)")
    for number in (entries.count + 1)... {
      let entry = Entry(context: context)
      entry.number = number
      entry.text = "Entry \(number)"
      try context.save()
      report("saved \(number)")
    }
  }

  /// Prints a line immediately. `print` may buffer several lines.
  private static func report(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }
}
