import Testing

@testable import Perdure

@Suite("Merging: values that are set back after another context has changed them")
struct SetBackTests {
  @Test(
    "A value that is set back does not replace the value of another context",
    arguments: [false, true])
  func setBack(readsBetween: Bool) throws {
    let container = try Staff.container(.engine)
    let (here, there) = (container.newContext(), container.newContext())
    let (ada, bob) = (here.worker("Ada"), here.worker("Bob"))
    ada.salary = 1
    try here.save()
    ada.salary = 2
    there.refreshAllObjects()
    let other = try #require(try there.existingObject(with: ada.objectID) as? Employee)
    other.salary = 3
    try there.save()
    // Advances the context. The unsaved change of `ada` is still based on the old row.
    here.refresh(bob, mergeChanges: true)
    if readsBetween { #expect(ada.name == "Ada") }
    ada.salary = 1
    other.name = "Eve"
    try there.save()
    here.refresh(bob, mergeChanges: true)
    try here.save()
    #expect(ada.salary == 3 && ada.name == "Eve")
    let stored = try container.newContext().fetch(Employee.self) { $0.name == "Eve" }
    #expect(stored.map(\.salary) == [3])
  }
}
