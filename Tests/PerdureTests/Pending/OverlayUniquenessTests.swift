import Testing

@testable import Perdure

@Suite("Overlays of unsaved changes")
struct OverlayUniquenessTests {
  @Test("A second overlay of one object stops the program (PC1)")
  func second() async {
    await #expect(processExitsWith: .failure) {
      let context = try Staff.container().newContext()
      let worker = context.worker("w", email: "w")
      let registry = context.core.registry
      let second = ObjectOverlay(worker.reference, worker.shape, isNew: true, in: registry.memory)
      context.core.pending.insert(second)
    }
  }
}
