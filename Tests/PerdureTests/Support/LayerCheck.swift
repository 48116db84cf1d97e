import PerdurePredicates
import Testing

@testable import Perdure

/// Expects that a context's layer equals a new layer that is built from the same unsaved changes
/// (BL1 in LayerBuilder.swift).
func expectLayer(
  _ context: ManagedObjectContext, sourceLocation: SourceLocation = #_sourceLocation
) throws {
  let core = context.core
  core.propagateDeletes()
  guard !core.tracker.isEmpty, core.readFailure == nil else { return }
  let found = try core.currentLayer().describe()
  let builder = LayerBuilder(over: core.view, IndexFeeds(core.graph.store), revision: 0)
  for overlay in core.tracker.all {
    try builder.replace(overlay.reference, with: core.contribution(of: overlay, nil))
  }
  try builder.finish()
  let expected = builder.describe()
  let difference = expected.difference(from: found)
  #expect(difference.isEmpty, "\(difference)", sourceLocation: sourceLocation)
}
