/// The parts that read objects as a context shows them: its view with its unsaved changes. Each
/// part uses only those before it.
struct ContextReading {
  let graph: GraphSchema
  let registry: ObjectRegistry
  let viewState: ViewState
  let pending: PendingChanges
  let transientState: TransientState
  let retirement: ObjectRetirement
  let rows: RowLoader
  let siblings: SiblingReader
  let settledLinks: SettledLinks
  let links: LinkReader
  let layerFollower: LayerFollower
  let derived: DerivedReader
  let contents: ContentReader

  init(
    _ registry: ObjectRegistry, _ viewState: ViewState, _ pending: PendingChanges,
    _ transientState: TransientState, _ eventHub: EventHub
  ) {
    graph = viewState.graph
    (self.registry, self.viewState, self.pending) = (registry, viewState, pending)
    self.transientState = transientState
    retirement = ObjectRetirement(viewState, registry, pending, eventHub)
    rows = RowLoader(viewState, registry, pending, retirement)
    siblings = SiblingReader(rows, registry, viewState, pending)
    settledLinks = SettledLinks(viewState, pending, transientState)
    links = LinkReader(rows, settledLinks, viewState, pending)
    layerFollower = LayerFollower(rows, settledLinks, registry, viewState, pending)
    derived = DerivedReader(rows, links, layerFollower, viewState, pending)
    contents = ContentReader(rows, settledLinks, links, registry, viewState, pending)
  }
}
