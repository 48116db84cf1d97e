// The program that `KilledGraphTests` kills. Each save inserts an album with a hundred pages,
// changes the album before it, and deletes the oldest one.
//
//     AlbumWriter write STORE    prints "found N", and then "saved N" after each save
//     AlbumWriter check STORE    prints "has N", after one line for each problem

import Foundation
import Perdure
import PerdureLog

@main
enum AlbumWriter {
  static func main() throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else { return report("Usage: AlbumWriter write|check STORE") }
    let container = try PersistentContainer(
      name: "Albums", classes: [Album.self, Page.self, Label.self], at: arguments[2])
    try container.loadPersistentStores()
    let context = container.newContext()
    guard arguments[1] == "write" else {
      var check = AlbumCheck(context: context)
      try check.run()
      try container.close()
      try check.verify(arguments[2])
      for problem in check.problems { report(problem) }
      return report("has \(check.last)")
    }
    let found = try lastNumber(context)
    report("found \(found)")
    for number in (found + 1)... {
      try save(number, context)
      report("saved \(number)")
    }
  }

  static func lastNumber(_ context: ManagedObjectContext) throws -> Int {
    try context.fetch(Album.fetchRequest()).map(\.number).max() ?? 0
  }

  private static func save(_ number: Int, _ context: ManagedObjectContext) throws {
    if let old = try album(number - 3, context) { context.delete(old) }
    if let changed = try album(number - 1, context) {
      let content = AlbumContent(number: number - 1, isChanged: true)
      (changed.title, changed.cover, changed.story) = (content.title, content.cover, content.story)
      changed.pages.move(from: 0, to: AlbumContent.pageCount - 1)
    }
    try insert(AlbumContent(number: number, isChanged: false), context)
    try context.save()
    // Evicts the large values from the context.
    context.reset()
  }

  private static func album(_ number: Int, _ context: ManagedObjectContext) throws -> Album? {
    try context.fetch(Album.fetchRequest { $0.number == number }).first
  }

  private static func insert(_ content: AlbumContent, _ context: ManagedObjectContext) throws {
    let album = Album(context: context)
    (album.number, album.title) = (content.number, content.title)
    (album.cover, album.story) = (content.cover, content.story)
    var labels: [Label] = []
    for name in AlbumContent.labelNames {
      let label = try context.fetch(Label.fetchRequest { $0.name == name }).first ?? Label(context: context)
      label.name = name
      labels.append(label)
    }
    for number in 0..<AlbumContent.pageCount {
      let page = Page(context: context)
      (page.code, page.words) = (content.code(of: number), content.words(of: number))
      album.pages.insert(page, at: number % 2 == 0 ? album.pages.count : 0)
      page.labels.insert(labels[number % labels.count])
    }
  }

  /// Prints a line at once. `print` may buffer several lines.
  static func report(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
