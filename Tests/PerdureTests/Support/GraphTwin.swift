// A graph of a random model as plain sets: the content that a context must show.

import PerdureModel

/// Two linked objects: the object at the first end, and the object at the second end. If a
/// relationship is its own inverse, the smaller number comes first.
struct GraphLink: Hashable {
  let from: Int
  let to: Int
}

/// Objects by number, and links by relationship.
struct GraphTwin {
  struct Object {
    let entity: Int
    var isDeleted = false
  }

  let model: RandomModel
  var objects: [Int: Object] = [:]
  private(set) var links: [Set<GraphLink>]

  init(_ model: RandomModel) {
    self.model = model
    links = Array(repeating: [], count: model.pairs.count)
  }

  /// The objects of an entity and its subentities that are not deleted.
  func living(_ entity: Int) -> [Int] {
    objects.filter { !$0.value.isDeleted && model.isKind($0.value.entity, of: entity) }.keys.sorted()
  }

  var living: [Int] { objects.filter { !$0.value.isDeleted }.keys.sorted() }

  func isDeleted(_ number: Int) -> Bool { objects[number]?.isDeleted ?? true }

  func ends(of number: Int) -> [RandomEnd] { objects[number].map { model.ends(of: $0.entity) } ?? [] }

  // MARK: Links

  private func link(_ owner: Int, _ end: RandomEnd, _ target: Int) -> GraphLink {
    if model.inverses[end.pair] == .itself {
      return GraphLink(from: min(owner, target), to: max(owner, target))
    }
    return end.side == 0 ? GraphLink(from: owner, to: target) : GraphLink(from: target, to: owner)
  }

  func targets(_ owner: Int, _ end: RandomEnd) -> Set<Int> {
    if model.inverses[end.pair] == .itself {
      return Set(links[end.pair].compactMap { $0.from == owner ? $0.to : $0.to == owner ? $0.from : nil })
    }
    return Set(
      links[end.pair].compactMap {
        end.side == 0 ? ($0.from == owner ? $0.to : nil) : ($0.to == owner ? $0.from : nil)
      })
  }

  mutating func connect(_ owner: Int, _ end: RandomEnd, _ target: Int) {
    guard !links[end.pair].contains(link(owner, end, target)) else { return }
    if !end.isToMany { removeAll(owner, end) }
    if let inverse = model.inverse(of: end), !inverse.isToMany { removeAll(target, inverse) }
    links[end.pair].insert(link(owner, end, target))
  }

  mutating func disconnect(_ owner: Int, _ end: RandomEnd, _ target: Int) {
    links[end.pair].remove(link(owner, end, target))
  }

  mutating func removeAll(_ owner: Int, _ end: RandomEnd) {
    for target in targets(owner, end) { disconnect(owner, end, target) }
  }

  // MARK: Transient links

  /// Removes the transient links of one object. One-way links to this object belong to other
  /// objects, and stay.
  mutating func forgetTransients(of number: Int) {
    for end in ends(of: number) where end.isTransient { removeAll(number, end) }
  }

  /// Removes all transient links except those of changed objects.
  mutating func forgetTransients(except changed: Set<Int> = []) {
    for pair in model.pairs where pair[0].isTransient {
      let number = pair[0].pair
      links[number] = links[number].filter {
        changed.contains($0.from) || model.inverses[number] != .none && changed.contains($0.to)
      }
    }
  }

  // MARK: Deletions

  /// Applies the delete rules.
  mutating func propagate() {
    while let target = cascadeTarget() { objects[target]?.isDeleted = true }
    for (number, object) in objects where object.isDeleted {
      for end in ends(of: number) where end.rule != .deny { removeAll(number, end) }
    }
    // The owner of a one-way reference to a deleted object drops the reference.
    for pair in model.pairs where model.inverses[pair[0].pair] == .none {
      let number = pair[0].pair
      links[number] = links[number].filter { isDeleted($0.from) || !isDeleted($0.to) }
    }
  }

  private func cascadeTarget() -> Int? {
    for (number, object) in objects where object.isDeleted {
      for end in ends(of: number) where end.rule == .cascade {
        if let target = targets(number, end).first(where: { !isDeleted($0) }) { return target }
      }
    }
    return nil
  }

  /// The reasons why a save must fail. Empty if it must succeed.
  var violations: [String] {
    objects.keys.sorted().flatMap { number in
      ends(of: number).compactMap { end -> String? in
        let targets = targets(number, end)
        if isDeleted(number) {
          return end.rule == .deny && targets.contains { !isDeleted($0) }
            ? "\(number) denied by \(end.name)" : nil
        }
        return end.allows(targets.count) ? nil : "\(number).\(end.name) has \(targets.count)"
      }
    }
  }

  /// Removes deleted objects.
  mutating func save() {
    objects = objects.filter { !$0.value.isDeleted }
    for pair in links.indices {
      links[pair] = links[pair].filter { objects[$0.from] != nil && objects[$0.to] != nil }
    }
  }

  /// Restores the links of one object from another state, if that state has the object.
  mutating func forgetChanges(of number: Int, _ saved: GraphTwin) {
    guard saved.objects[number] != nil else { return }
    for end in ends(of: number) {
      let stored = saved.targets(number, end)
      for target in targets(number, end).subtracting(stored) {
        disconnect(number, end, target)
        restorePartner(of: target, end, saved)
      }
      for target in stored { reconnect(number, end, target, from: saved) }
    }
  }

  /// Restores a saved link, and the saved links of the objects that lose their partners by it.
  private mutating func reconnect(
    _ number: Int, _ end: RandomEnd, _ target: Int, from saved: GraphTwin
  ) {
    guard let inverse = model.inverse(of: end), !inverse.isToMany else {
      return connect(number, end, target)
    }
    let displaced = targets(target, inverse).subtracting([number])
    connect(number, end, target)
    for object in displaced { restorePartner(of: object, inverse, saved) }
  }

  /// Restores the saved to-one link of an object that has lost its unsaved one.
  private mutating func restorePartner(of target: Int, _ end: RandomEnd, _ saved: GraphTwin) {
    guard let inverse = model.inverse(of: end), !end.isTransient, !inverse.isToMany, !isDeleted(target),
      targets(target, inverse).isEmpty, let partner = saved.targets(target, inverse).first,
      !isDeleted(partner), end.isToMany || targets(partner, end).isEmpty
    else { return }
    connect(target, inverse, partner)
  }
}
