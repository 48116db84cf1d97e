import PerdurePredicates
import Testing

@testable import Perdure

@Suite("Requests with a dynamic class")
struct ClassedRequestTests {
  @Test("A request keeps its settings when its class changes")
  func everything() throws {
    var request = FetchRequest<Int>(
      entityName: "Item", predicate: try FetchPredicate(format: "a == 1"),
      sortDescriptors: [FetchOrder("a")])
    let plain = FetchRequest<Int>()
    request.fetchLimit = 1
    request.fetchOffset = 2
    request.includesSubentities = false
    request.includesPendingChanges = false
    request.affectedStores = []
    request.relationshipKeyPathsForPrefetching = ["b"]
    request.includesPropertyValues = false
    request.returnsObjectsAsFaults = false
    request.fetchBatchSize = 3
    let parts = zip(Mirror(reflecting: request).children, Mirror(reflecting: request.anyRoot()).children)
    for ((wanted, same), usual) in zip(parts, Mirror(reflecting: plain).children) {
      #expect("\(wanted.value)" == "\(same.value)", "\(wanted.label ?? "")")
      // Every field must be set above: the test cannot detect the loss of a default value.
      #expect("\(wanted.value)" != "\(usual.value)", "\(wanted.label ?? "") has its usual value in this test")
    }
  }
}
