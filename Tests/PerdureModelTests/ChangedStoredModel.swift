@testable import PerdureModel

extension StoredModel {
  /// The same with other parts, which may break the invariants.
  func with(
    entries: [Entry]? = nil, layouts: [LayoutSchema]? = nil, lastNumbers: LastNumbers? = nil,
    origins: [UInt32: PropertyOrigin]? = nil
  ) -> StoredModel {
    StoredModel(
      model: model, entries: entries ?? self.entries, layouts: layouts ?? self.layouts,
      lastNumbers: lastNumbers ?? self.lastNumbers, origins: origins ?? self.origins, history: history,
      skippedSections: skippedSections)
  }
}
