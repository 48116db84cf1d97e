// Links and order keys (`places`) in a layer. Several objects may remove the same link, for example
// both of its ends if both are deleted. So the builder counts how many objects add and remove each
// link.

internal import PerdurePredicates

/// A change of the effect of an object on a link or an order key; nil means no effect.
struct PartChange<Effect: Equatable> {
  let link: StoreLink
  let old: Effect?
  let new: Effect?
}

extension PartChange {
  /// Makes a change, and applies it to the parts of a contribution.
  init(_ link: StoreLink, to new: Effect?, in parts: inout [StoreLink: Effect]) {
    let old = new.map { parts.updateValue($0, forKey: link) } ?? parts.removeValue(forKey: link)
    self.init(link: link, old: old, new: new)
  }

  /// The changes between two versions of the parts of a contribution.
  static func all(from old: [StoreLink: Effect], to new: [StoreLink: Effect]) -> [PartChange] {
    var changes: [PartChange] = []
    for (link, effect) in old where new[link] != effect {
      changes.append(PartChange(link: link, old: effect, new: new[link]))
    }
    for (link, effect) in new where old[link] == nil {
      changes.append(PartChange(link: link, old: nil, new: effect))
    }
    return changes
  }
}

extension LayerBuilder {
  func changeLinks(_ changes: [PartChange<ObjectContribution.LinkChange>]) throws {
    for change in changes where change.old != change.new {
      var state = links[change.link] ?? LinkState()
      state.count(change.old, -1)
      state.count(change.new, 1)
      links[change.link] = state
      try recomputeLink(change.link)
    }
  }

  func changePlaces(_ changes: [PartChange<ObjectContribution.OrderKeyChange>]) throws {
    for change in changes where change.old != change.new {
      var state = places[change.link] ?? OrderKeyState()
      switch change.old {
      case .key: state.key = nil
      case .removed: state.removals -= 1
      case nil: break
      }
      switch change.new {
      case .key(let key): state.key = key
      case .removed: state.removals += 1
      case nil: break
      }
      places[change.link] = state
      try recomputePlace(change.link)
    }
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

  /// Recomputes the links to an object and its order keys, after its deletion or the undo of its
  /// deletion.
  func recomputeMentions(of reference: ObjectReference) throws {
    for link in mentions[reference] ?? [] {
      try recomputeLink(link)
      try recomputePlace(link)
    }
  }

  private func recomputeLink(_ link: StoreLink) throws {
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

  private func recomputePlace(_ link: StoreLink) throws {
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
    let changed = LayerOrderKey(link: link, key: place.after)
    if isUndone { layer.places.remove(changed) } else { layer.places.update(changed) }
  }
}
