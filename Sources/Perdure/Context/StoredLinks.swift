// The other ends of relationships in the store, read for many objects at once.
//
// A deletion asks for every relationship of an object, and a save asks again. If each answer is a
// request to a distant store, the delete rules and the save take as many requests as there are
// links. So these are read ahead for all objects that are being deleted, and kept until the context
// moves on.

internal import PerdurePredicates

/// The stored entries of some owners in some indexes.
struct StoredLinks {
  private struct Key: Hashable {
    let index: StoreIndex
    let owner: ObjectReference
  }

  private var found: [Key: [ObjectReference]] = [:]

  /// The references of an owner; nil if they were not read.
  func references(under owner: ObjectReference, in index: StoreIndex) -> [ObjectReference]? {
    found[Key(index: index, owner: owner)]
  }

  mutating func add(_ references: [ObjectReference], under owner: ObjectReference, in index: StoreIndex) {
    found[Key(index: index, owner: owner)] = references
  }
}

extension ContextCore {
  /// The stored references of an owner, if they were read ahead.
  @inline(__always)
  func linksReadAhead(under owner: ObjectReference, in index: StoreIndex) -> [ObjectReference]? {
    storedLinks?.references(under: owner, in: index)
  }

  /// Reads the relationships that the deletion of some objects asks for, in one request. Links that
  /// could not be read are read when they are needed, which reports the error.
  func readLinksAhead(ofDeleted references: [ObjectReference]) {
    var links = storedLinks ?? StoredLinks()
    var owners: [StoreIndex: [ObjectReference]] = [:]
    for reference in references where !tracker.isUnknownToStore(reference) {
      for index in indexesOfDeletion(graph.shape(of: reference))
      where links.references(under: reference, in: index) == nil {
        owners[index, default: []].append(reference)
      }
    }
    if owners.isEmpty { return }
    let requests = owners.sorted { $0.key.rawValue < $1.key.rawValue }.map {
      RelationshipRequest(owners: $0.value, index: $0.key)
    }
    statistics.relationshipRequestCount += 1
    do {
      try view.visitReferences(requests) { request, owner, found in
        links.add(found, under: owner, in: requests[request].index)
      }
      storedLinks = links
    } catch {
      storedLinks = nil
    }
  }

  /// The indexes with the links of an object, and with the links to it.
  private func indexesOfDeletion(_ shape: EntityShape) -> Set<StoreIndex> {
    var indexes: Set<StoreIndex> = []
    for relationship in shape.relationships where relationship.form != .column {
      if let index = relationship.index { indexes.insert(index) }
    }
    for relationship in shape.incoming {
      let index = relationship.form == .column ? relationship.index : relationship.owners
      if let index { indexes.insert(index) }
    }
    return indexes
  }
}
