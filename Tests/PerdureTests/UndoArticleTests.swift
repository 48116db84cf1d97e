// The code blocks of the article UndoAndRedo in Perdure.docc. The lines between two marks, such as
// `// UndoAndRedo 2` and `// end`, equal the block with that number. Change the article and this
// file together.

import Foundation
import Perdure
import Synchronization
import Testing

/// The lines that the examples print.
private let printedLines = Mutex<[String]>([])

private func print(_ items: Any...) {
  printedLines.withLock { $0.append(items.map { "\($0)" }.joined(separator: " ")) }
}

/// Without this function, a call with three values prints to the standard output.
private func print(_ first: Any, _ second: Any, _ third: Any) {
  printedLines.withLock { $0.append("\(first) \(second) \(third)") }
}

private enum UndoExample {
  // UndoAndRedo 1
  @Entity final class ToDoList: ManagedObject {
    var name: String = ""
    @Relationship(inverse: "list", deleteRule: .cascade) var items: OrderedToMany<ToDo>
  }

  @Entity final class ToDo: ManagedObject {
    var title: String = ""
    var isDone: Bool = false
    var lastShown: Date?
    @Relationship(inverse: "items") var list: ToDoList?
  }
  // end

  @MainActor static func run() async throws {
    // UndoAndRedo 2
    let container = try PersistentContainer(
      name: "ToDo", classes: [ToDoList.self, ToDo.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    context.undoManager = ContextUndoManager()

    let list = context.undoGroup("New List") {
      let list = ToDoList(context: context)
      for title in ["Buy bread", "Call Ada", "Sleep"] {
        let item = ToDo(context: context)
        item.title = title
        list.items.append(item)
      }
      return list
    }
    context.undoGroup("Move") { list.items.move(list.items[2], to: 0) }
    print(list.items.map(\.title))  // ["Sleep", "Buy bread", "Call Ada"]
    try context.undo()
    print(list.items.map(\.title))  // ["Buy bread", "Call Ada", "Sleep"]
    try context.redo()
    print(list.items.map(\.title))  // ["Sleep", "Buy bread", "Call Ada"]
    // end
    // UndoAndRedo 3
    context.undoGroup("Delete List") { context.delete(list) }
    try context.save()
    print(try container.newContext().count(for: ToDo.fetchRequest()))  // 0
    try context.undo()
    try context.save()
    print(try container.newContext().count(for: ToDo.fetchRequest()))  // 3
    // end
    // UndoAndRedo 4
    let first = list.items[0]
    first.isDone = true
    context.withoutUndo { first.lastShown = Date() }
    try context.undo()
    print(first.isDone, first.lastShown != nil)  // false true
    // end
    // UndoAndRedo 5
    await context.undoGroup("Rename Later") {
      await Task.yield()  // other tasks can edit here
      first.title = "Sleep long"
    }
    try context.undo()
    print(first.title)  // Sleep
    // end
    // UndoAndRedo 6
    context.undoGroup("Rename") { first.title = "Rest" }
    try context.save()

    let other = container.newContext()
    try other.fetch(ToDo.fetchRequest { $0.title == "Rest" })[0].title = "Sleep well"
    try other.save()
    context.refreshAllObjects()
    do {
      try context.undo()
    } catch {
      let conflict = error.undoConflicts[0]
      print(conflict.before, conflict.after, conflict.current)  // "Sleep" "Rest" "Sleep well"
    }
    try context.undo(.keepCurrent)
    print(first.title)  // Sleep well
    // end
  }
}

@Suite("The examples of the article about undo")
struct UndoArticleTests {
  @Test("UndoAndRedo runs, and prints the text of its comments")
  @MainActor func runs() async throws {
    try await UndoExample.run()
    #expect(
      printedLines.withLock { $0 } == [
        #"["Sleep", "Buy bread", "Call Ada"]"#, #"["Buy bread", "Call Ada", "Sleep"]"#,
        #"["Sleep", "Buy bread", "Call Ada"]"#, "0", "3", "false true", "Sleep",
        #""Sleep" "Rest" "Sleep well""#,
        "Sleep well",
      ])
  }

  @Test("The code blocks of the article equal the code in this file")
  func sameText() throws {
    let code = try DocumentedCode("Sources/Perdure/Perdure.docc/UndoAndRedo.md", in: #filePath)
    #expect(code.counts == (6, 6))
    for number in 1...6 { try code.expectSame(number) }
  }
}
