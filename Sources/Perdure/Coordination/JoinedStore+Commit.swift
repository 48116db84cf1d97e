// Commits a change of several stores: splits it, checks all parts, then commits them one by one
// (JO3).

internal import PerdurePredicates

extension JoinedStore {
  package func commit(_ change: StoreChange) throws -> any StoreView {
    guard let view = change.view as? JoinedView else {
      preconditionFailure("A change belongs to a view of the store that it is committed to.")
    }
    let parts = parts(of: change, view)
    let concerned = parts.indices.filter { parts[$0] != nil }
    if concerned.count > 1 { try check(parts) }
    var views = view.views
    var committed: [Int] = []
    for place in concerned {
      guard let part = parts[place] else { continue }
      do { views[place] = try members[place].store.commit(part) } catch {
        let cause = raised(error, of: place)
        if committed.isEmpty { throw cause }
        throw IncompleteCommit(
          committed: committed, failed: place, view: joined(views), cause: cause)
      }
      committed.append(place)
    }
    for place in members.indices where parts[place] == nil { views[place] = members[place].store.view() }
    return joined(views)
  }

  package func check(_ change: StoreChange) throws {
    guard let view = change.view as? JoinedView else {
      preconditionFailure("A change belongs to a view of the store that it is committed to.")
    }
    try check(parts(of: change, view))
  }

  /// Checks each part in its store. The conflicts of several stores are thrown as one conflict.
  private func check(_ parts: [StoreChange?]) throws {
    var conflict = StoreConflict()
    for (place, part) in parts.enumerated() {
      guard let part else { continue }
      do { try members[place].store.check(part) } catch {
        guard let found = raised(error, of: place) as? StoreConflict else { throw error }
        conflict.failed += found.failed
        conflict.duplicates += found.duplicates
      }
    }
    if !conflict.failed.isEmpty || !conflict.duplicates.isEmpty { throw conflict }
  }

  // MARK: Splitting

  /// The part of the change for each store, in the numbers of that store; nil for stores without a
  /// part.
  private func parts(of change: StoreChange, _ view: JoinedView) -> [StoreChange?] {
    var parts = [StoreChange?](repeating: nil, count: members.count)
    func withPart(_ place: Int, _ body: (inout StoreChange, StoreOffset) -> Void) {
      var part =
        parts[place]
        ?? StoreChange(
          view: view.views[place], schema: members[place].store.schema, durability: members[place].durability)
      parts[place] = nil
      body(&part, places.offsets[place])
      parts[place] = part
    }
    change.puts.forEach { reference, row in
      withPart(storeOrdinal(of: reference)) { part, offset in
        part.puts.append(reference.lowered(by: offset.entity)) { $0.append(contentsOf: row) }
      }
    }
    for reference in change.removals {
      withPart(storeOrdinal(of: reference)) { $0.removals.append(reference.lowered(by: $1.entity)) }
    }
    for link in change.linksAdded {
      withPart(places.storeOrdinal(of: link.index)) { $0.linksAdded.append(link.lowered(by: $1)) }
    }
    for link in change.linksRemoved {
      withPart(places.storeOrdinal(of: link.index)) { $0.linksRemoved.append(link.lowered(by: $1)) }
    }
    for place in change.places {
      withPart(places.storeOrdinal(of: place.link.index)) {
        $0.places.append(StoreOrderKey(link: place.link.lowered(by: $1), key: place.key))
      }
    }
    for precondition in change.preconditions {
      let (place, lowered) = lowered(precondition)
      withPart(place) { part, _ in part.preconditions.append(lowered) }
    }
    return parts
  }

  private func storeOrdinal(of reference: ObjectReference) -> Int {
    guard let place = places.storeOrdinal(ofEntity: reference.entityNumber) else {
      preconditionFailure("No store has an entity with the number \(reference.entityNumber).")
    }
    return place
  }

  private func lowered(_ precondition: Precondition) -> (place: Int, precondition: Precondition) {
    switch precondition {
    case .rowUnchanged(let reference, let version):
      let place = storeOrdinal(of: reference)
      return (place, .rowUnchanged(reference.lowered(by: places.offsets[place].entity), version))
    case .rowExists(let reference):
      let place = storeOrdinal(of: reference)
      return (place, .rowExists(reference.lowered(by: places.offsets[place].entity)))
    case .rowAbsent(let reference):
      let place = storeOrdinal(of: reference)
      return (place, .rowAbsent(reference.lowered(by: places.offsets[place].entity)))
    case .rangeUnchanged(let index, let range):
      let place = places.storeOrdinal(of: index)
      return (
        place,
        .rangeUnchanged(index.lowered(by: places.offsets[place]), places.lowered(range, of: index))
      )
    }
  }

  // MARK: Errors

  /// Converts the error of a store to the numbers of the joined store.
  private func raised(_ error: any Error, of place: Int) -> any Error {
    guard let conflict = error as? StoreConflict else { return error }
    let offset = places.offsets[place]
    return StoreConflict(
      failed: conflict.failed.map { precondition in
        switch precondition {
        case .rowUnchanged(let reference, let version):
          .rowUnchanged(reference.raised(by: offset.entity), version)
        case .rowExists(let reference): .rowExists(reference.raised(by: offset.entity))
        case .rowAbsent(let reference): .rowAbsent(reference.raised(by: offset.entity))
        case .rangeUnchanged(let index, let range):
          .rangeUnchanged(
            index.raised(by: offset), places.raised(range, of: index.raised(by: offset)))
        }
      },
      duplicates: conflict.duplicates.map { duplicate in
        .init(
          index: duplicate.index.raised(by: offset), key: duplicate.key,
          existing: duplicate.existing.raised(by: offset.entity),
          rejected: duplicate.rejected.raised(by: offset.entity))
      })
  }
}

extension StoreLink {
  fileprivate func lowered(by offset: StoreOffset) -> StoreLink {
    StoreLink(
      index: index.lowered(by: offset), source: source.lowered(by: offset.entity),
      target: target.lowered(by: offset.entity))
  }
}
