// Links and places in a layer. Several objects may remove the same link: both ends, if both are
// deleted. So the builder counts how many objects add and remove each link.

internal import PerdurePredicates

extension LayerBuilder {
  func replaceLinks(_ old: ObjectContribution, _ new: ObjectContribution) throws {
    var changed: Set<StoreLink> = []
    func count(_ all: [StoreLink], _ change: (inout LinkState) -> Void) {
      for link in all {
        change(&links[link, default: LinkState()])
        changed.insert(link)
      }
    }
    count(old.linksAdded) { $0.adds -= 1 }
    count(old.linksRemoved) { $0.removals -= 1 }
    count(new.linksAdded) { $0.adds += 1 }
    count(new.linksRemoved) { $0.removals += 1 }
    for link in changed { try settleLink(link) }
    if old.places.isEmpty, new.places.isEmpty, old.placesRemoved.isEmpty, new.placesRemoved.isEmpty {
      return
    }
    try replacePlaces(old, new)
  }

  private func replacePlaces(_ old: ObjectContribution, _ new: ObjectContribution) throws {
    var changed: Set<StoreLink> = []
    func change(_ link: StoreLink, _ change: (inout PlaceState) -> Void) {
      change(&places[link, default: PlaceState()])
      changed.insert(link)
    }
    for (link, _) in old.places { change(link) { $0.key = nil } }
    for (link, key) in new.places { change(link) { $0.key = key } }
    for link in old.placesRemoved { change(link) { $0.removals -= 1 } }
    for link in new.placesRemoved { change(link) { $0.removals += 1 } }
    for link in changed { try settlePlace(link) }
  }

  private func isDeleted(_ reference: ObjectReference) -> Bool {
    known[reference]?.contribution.isDeleted == true
  }

  private func mention(_ link: StoreLink, _ isMentioned: Bool) {
    if isMentioned {
      mentions[link.target, default: []].insert(link)
    } else if mentions[link.target]?.remove(link) != nil, mentions[link.target]?.isEmpty == true {
      mentions[link.target] = nil
    }
  }

  /// Recomputes the links and places that lead to an object, after its deletion or the undo of its
  /// deletion.
  func settleMentions(of reference: ObjectReference) throws {
    for link in mentions[reference] ?? [] {
      try settleLink(link)
      try settlePlace(link)
    }
  }

  private func settleLink(_ link: StoreLink) throws {
    guard var state = links[link] else { return }
    let isBelow = try base.hasEntry(under: link.source, link.target, in: link.index)
    var effect = LinkState.Effect.none
    if state.adds > 0, !isDeleted(link.target) {
      if !isBelow { effect = .added }
    } else if state.removals > 0, isBelow {
      effect = .hidden
    }
    if effect != state.effect {
      let back = feeds.reversed[link.index.rawValue]
      changeEntry(.under(link.source, link.target), in: link.index, from: state.effect, to: effect)
      if let back {
        changeEntry(.under(link.target, link.source), in: back, from: state.effect, to: effect)
      }
      state.effect = effect
    }
    mention(link, state.adds > 0)
    links[link] = state.adds == 0 && state.removals == 0 ? nil : state
  }

  private func changeEntry(
    _ entry: LayerEntry, in index: StoreIndex, from old: LinkState.Effect, to new: LinkState.Effect
  ) {
    switch old {
    case .none: break
    case .added: remove(entry, from: index)
    case .hidden: show(entry, in: index)
    }
    switch new {
    case .none: break
    case .added: add(entry, to: index)
    case .hidden: hide(entry, in: index)
    }
  }

  private func settlePlace(_ link: StoreLink) throws {
    guard var state = places[link], let order = feeds.orders[link.index.rawValue] else { return }
    let before = try base.orderKey(of: link.target, under: link.source, in: order)
    let key = isDeleted(link.target) ? nil : state.key
    let after = key ?? (state.removals > 0 ? nil : before)
    if let old = state.effect { changePlace(link, order, old, isUndone: true) }
    state.effect = nil
    if before != after {
      state.effect = (before, after)
      changePlace(link, order, (before, after), isUndone: false)
    }
    mention(link, state.key != nil)
    places[link] = state.key == nil && state.removals == 0 ? nil : state
  }

  private func changePlace(
    _ link: StoreLink, _ order: OrderIndexes, _ place: (before: OrderKey?, after: OrderKey?),
    isUndone: Bool
  ) {
    let member = LayerEntry.under(link.source, link.target)
    if let before = place.before {
      let entry = LayerEntry.at(before, link)
      if isUndone { show(entry, in: order.ordered) } else { hide(entry, in: order.ordered) }
      if place.after == nil {
        if isUndone { show(member, in: order.keys) } else { hide(member, in: order.keys) }
      }
    } else if isUndone {
      remove(member, from: order.keys)
    } else {
      add(member, to: order.keys)
    }
    if let after = place.after {
      let entry = LayerEntry.at(after, link)
      if isUndone { remove(entry, from: order.ordered) } else { add(entry, to: order.ordered) }
    }
    let changed = LayerPlace(link: link, key: place.after)
    if isUndone { layer.places.remove(changed) } else { layer.places.update(changed) }
  }
}
