// Searches for unsaved links that their targets do not record. Each search visits only objects that
// have had such a link to the target, and no other unsaved changes.

import PerdurePredicates
import Testing

@testable import Perdure

@Suite("Unsaved links in relationships without an inverse")
struct OneWaySourcesTests {
  private let context: ManagedObjectContext

  init() throws { context = try Staff.container().newContext() }

  private func sources(of target: ManagedObject) -> [ObjectReference] {
    context.core.pending.oneWaySources(of: [target.reference]).map(\.reference)
  }

  @Test("A search for the sources of a target visits no other object with unsaved links")
  func relevant() throws {
    let workers = (0..<100).map { context.worker("\($0)") }
    let project = Project(context: context)
    for (index, worker) in workers.enumerated() where index > 0 { worker.mentor = workers[index - 1] }
    workers[7].bookmarks.insert(project)
    #expect(sources(of: workers[5]) == [workers[6].reference])
    #expect(sources(of: project) == [workers[7].reference])
    #expect(sources(of: workers[99]).isEmpty)
  }

  @Test("The sources of several targets are in order, each of them once")
  func several() {
    let (first, second, target, other) = (
      context.worker("a"), context.worker("b"), context.worker("t"), context.worker("u")
    )
    for worker in [second, first, second] { worker.mentor = target }
    first.mentor = other
    #expect(sources(of: target) == [first.reference, second.reference])
    let both = context.core.pending.oneWaySources(of: [other.reference, target.reference])
    #expect(both.map(\.reference) == [first.reference, second.reference])
  }

  @Test("Many sources of one target are found")
  func many() {
    let target = context.worker("t")
    let workers = (0..<1000).map { context.worker("\($0)") }
    for worker in workers { worker.mentor = target }
    #expect(sources(of: target) == workers.map(\.reference))
  }

  @Test("A removed link adds no source")
  func removed() throws {
    let (worker, project) = (context.worker("w"), Project(context: context))
    worker.bookmarks.insert(project)
    try context.save()
    worker.bookmarks.remove(project)
    #expect(sources(of: project).isEmpty)
  }

  @Test("A deletion removes links that were made before it, after it, and in other events")
  func deletion() throws {
    let (source, later, target) = (context.worker("s"), context.worker("l"), context.worker("t"))
    let project = Project(context: context)
    try context.save()
    source.mentor = target
    source.bookmarks.insert(project)
    context.processPendingChanges()
    context.delete(target)
    context.delete(project)
    context.processPendingChanges()
    #expect(source.mentor == nil && source.bookmarks.isEmpty)
    later.mentor = target
    context.processPendingChanges()
    #expect(later.mentor == nil)
    try context.save()
    #expect(!context.hasChanges)
  }

  @Test("A save forgets the sources, and later links are found again")
  func afterSave() throws {
    let (source, target) = (context.worker("s"), context.worker("t"))
    source.mentor = target
    try context.save()
    #expect(sources(of: target).isEmpty)
    source.mentor = nil
    source.mentor = target
    #expect(sources(of: target) == [source.reference])
  }
}
