import PerdurePredicates
import Testing

@testable import Perdure

/// Expects that a context's layer equals a new layer that is built from the same unsaved changes
/// (BL1 in LayerBuilder.swift).
func expectLayer(
  _ context: ManagedObjectContext, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let core = context.core
  core.editing.deleteRules.propagateDeletes()
  guard !core.pending.isEmpty, core.viewState.readFailure == nil else { return }
  let found = try core.reading.layerFollower.currentLayer().describe()
  let builder = LayerBuilder(over: core.viewState.view, IndexFeeds(core.graph.store), revision: 0)
  for overlay in core.pending.all {
    try builder.replace(overlay.reference, with: core.reading.layerFollower.contribution(of: overlay, nil))
  }
  try builder.finish()
  let expected = builder.describe()
  let difference = expected.difference(from: found)
  #expect(difference.isEmpty, "\(difference)", sourceLocation: sourceLocation)
}
