import Perdure

/// The unsaved changes of the context in which operations run. Half of them are updates, and the
/// others are new objects.
struct Pending: Hashable, Sendable {
  enum Kind: String {
    /// Changes of notes, which no operation reads.
    case otherEntity = "of another entity"
    /// Changes of workers that no operation finds. The updated ones are in companies that no
    /// operation reads. The new ones have no company.
    case sameEntity = "of the same entity"
  }

  let kind: Kind
  let count: Int

  static let none = Pending(kind: .otherEntity, count: 0)
  static let all = [
    none, Pending(kind: .otherEntity, count: 100), Pending(kind: .otherEntity, count: 10_000),
    Pending(kind: .sameEntity, count: 100), Pending(kind: .sameEntity, count: 10_000),
  ]

  var title: String { count == 0 ? "none" : "\(count) \(kind.rawValue)" }

  /// Makes the changes in a context, and processes them (`processPendingChanges`).
  func make(in context: ManagedObjectContext) throws {
    let half = count / 2
    switch kind {
    case .otherEntity: try changeNotes(half, context)
    case .sameEntity: try changeWorkers(half, context)
    }
    context.processPendingChanges()
  }

  private func changeNotes(_ half: Int, _ context: ManagedObjectContext) throws {
    guard half > 0 else { return }
    let first = Int64(BaseGraph.noteCount)
    for note in try context.fetch(Note.self, limit: half) { note.number += first }
    for number in 0..<half {
      let note = Note(context: context)
      (note.number, note.text) = (2 * first + Int64(number), "New \(number)")
    }
  }

  private func changeWorkers(_ half: Int, _ context: ManagedObjectContext) throws {
    guard half > 0 else { return }
    // Changes workers of the second half of the companies. No operation finds these workers.
    let low = Int64(BaseGraph.workerCount / 2)
    for worker in try context.fetch(Worker.self, limit: half, where: { $0.number >= low }) {
      (worker.salary, worker.rating) = (1_000_000 + worker.number, -1)
      worker.lastName = "Old \(worker.number)"
    }
    for number in 0..<half {
      let worker = Worker(context: context)
      worker.set(BaseGraph.workerCount + number)
      (worker.salary, worker.rating, worker.lastName) = (2_000_000 + Int64(number), -2, "New \(number)")
      worker.email = "zz.\(number)@example.org"
    }
  }
}
