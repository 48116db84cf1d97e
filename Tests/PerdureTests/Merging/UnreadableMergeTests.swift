// Saves that cannot read the store while they merge.

import PerdurePredicates
import Testing

@testable import Perdure

@Suite("Merging: saves that cannot read the store")
struct UnreadableMergeTests {
  @Test(
    "After a temporary read failure in a merge, the edits are still pending and can be saved",
    arguments: [UnreadableStore.Part.versions, .rows, .entries])
  func passing(_ part: UnreadableStore.Part) throws {
    let (container, failing) = try UnreadableStore.container()
    var mergeFailures = 0
    for reads in 0..<40 {
      let other = container.newContext()
      let (theirs, company) = (other.worker("A", email: "a\(reads)"), other.company("C"))
      try other.save()
      let context = container.newContext()
      let (mine, here) = (try context.same(theirs), try context.same(company))
      mine.salary = 7
      mine.company = here
      theirs.name = "B"
      try other.save()
      failing.set([part], after: reads, isPassing: true)
      var saveError: PerdureError?
      do throws(PerdureError) { try context.save() } catch { saveError = error }
      failing.set([])
      if saveError?.message.contains("Save again") == true {
        mergeFailures += 1
        #expect(mine.salary == 7 && mine.company === here && mine.name == "A", "\(reads)")
        try context.save()
      }
      guard saveError == nil || saveError?.message.contains("Save again") == true else { continue }
      #expect(mine.name == "B" && mine.salary == 7, "\(reads)")
      let saved = try container.newContext().same(mine)
      #expect(saved.name == "B" && saved.salary == 7 && saved.company?.name == "C", "\(reads)")
    }
    #expect(mergeFailures > 0)
  }
}
