@testable import PerdureModel

extension StoredModel {
  /// A copy with some parts replaced. The copy may violate the invariants.
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
