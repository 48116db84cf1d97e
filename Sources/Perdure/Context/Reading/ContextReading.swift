/// The parts that read objects in the state that a context shows. This state is the context's view
/// with its unsaved changes. Each part uses only parts that are declared before it.
struct ContextReading {
  let graph: GraphSchema
  let registry: ObjectRegistry
  let viewState: ViewState
  let pending: PendingChanges
  let transientState: TransientState
  let retirement: ObjectRetirement
  let rows: RowLoader
  let siblings: SiblingReader
  let savedLinks: SavedLinks
  let links: LinkReader
  let layerFollower: LayerFollower
  let derived: DerivedReader
  let contents: ContentReader

  init(
    registry: ObjectRegistry, viewState: ViewState, pending: PendingChanges,
    transientState: TransientState, eventHub: EventHub
  ) {
    graph = viewState.graph
    (self.registry, self.viewState, self.pending) = (registry, viewState, pending)
    self.transientState = transientState
    retirement = ObjectRetirement(
      viewState: viewState, registry: registry, pending: pending, eventHub: eventHub)
    rows = RowLoader(viewState: viewState, registry: registry, pending: pending, retirement: retirement)
    siblings = SiblingReader(rows: rows, registry: registry, viewState: viewState, pending: pending)
    savedLinks = SavedLinks(viewState, pending, transientState)
    links = LinkReader(rows: rows, savedLinks: savedLinks, viewState: viewState, pending: pending)
    layerFollower = LayerFollower(
      rows: rows, savedLinks: savedLinks, registry: registry, viewState: viewState, pending: pending)
    derived = DerivedReader(
      rows: rows, links: links, layerFollower: layerFollower, viewState: viewState, pending: pending)
    contents = ContentReader(
      rows: rows, savedLinks: savedLinks, links: links, registry: registry, viewState: viewState,
      pending: pending)
  }
}
