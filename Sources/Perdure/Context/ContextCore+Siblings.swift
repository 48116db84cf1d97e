// Walks over to-many relationships, and faults that fire together (SiblingGroup.swift).

internal import PerdurePredicates

extension ContextCore {
  /// A walk over the objects at the other end of a to-many relationship, unsaved changes included.
  func walk(over slot: Int, of owner: ManagedObject) -> SiblingWalk {
    let isAskedAgain = owner.header.pointee.isAskedAgain(slot)
    if owner.header.pointee.groupNumber != 0, let (relation, range) = related(to: owner, by: slot) {
      if isAskedAgain {
        found.removeAll(keepingCapacity: true)
        if let targets = relation.group {
          for place in range { found.append(targets.references[Int(relation.places[place])]) }
        }
        if let kept = keep(found, slot, of: owner) { return SiblingWalk(kept) }
      }
      return SiblingWalk(self, relation, range)
    }
    found.removeAll(keepingCapacity: true)
    owner.uncountedShape._withUnsafeGuaranteedRef { $0.uncountedRelationship(slot) }
      ._withUnsafeGuaranteedRef { relationship in
        if !relationship.isToMany {
          stop("\(owner.shape.name).\(relationship.name) is to-one, and was read as a collection.")
        }
        appendTargets(of: owner.reference, owner.overlay, relationship, to: &found)
      }
    if isAskedAgain, let kept = keep(found, slot, of: owner) { return SiblingWalk(kept) }
    switch found.count {
    case 0: return SiblingWalk()
    case 1: return SiblingWalk(self, only: found[0])
    default: return SiblingWalk(self, siblingGroups.makeWalk(found, in: memoryOwner))
    }
  }

  /// The one instance of a sibling.
  func instance(at position: Int, of group: SiblingGroup) -> ManagedObject {
    let reference = group.references[position]
    if let object = identityMap.object(reference) {
      note(object.header, position, of: group)
      return object
    }
    return graph.uncountedShape(of: reference)._withUnsafeGuaranteedRef { shape in
      let header =
        group.takeHeader(at: position)
        ?? .make(reference, shape, in: memory)
      note(header, position, of: group)
      return shape.objectClass.init(ObjectSeed(header: header))
    }
  }

  @inline(__always)
  func note(
    _ header: UnsafeMutablePointer<ObjectHeader>, _ position: Int, of group: SiblingGroup
  ) {
    let old = header.pointee.groupNumber
    if (old | group.number) & SiblingGroup.lastingMark != 0 {
      if old != group.number { siblingGroups.join(header, group) }
    } else {
      header.pointee.groupNumber = group.number
    }
    header.pointee.groupPosition = UInt32(truncatingIfNeeded: position)
    if group.kind == .walk { siblingGroups.keep(group) }
  }

  /// The instance that has a header is being freed.
  ///
  /// - Returns: Whether its siblings keep the header.
  @inline(never)
  func leaveSiblings(_ header: UnsafeMutablePointer<ObjectHeader>) -> Bool {
    // A drowsy object has not read its row, which the next instance may get.
    if siblingGroups.keepsHeaders(of: header), header.pointee.row != nil, !header.pointee.isGone,
      header.pointee.wakefulness.contains(.drowsy), header.pointee.isCurrent
    {
      header.pointee.epoch = epoch
    }
    return siblingGroups.leave(header)
  }

  // MARK: Reading ahead

  /// Reads the row of a fault and of the siblings in its block; false when there is no group, or it did not
  /// give the row, and the fault has to fire by itself.
  func fireBlock(of object: ManagedObject) -> Bool {
    guard object.overlay == nil, let group = siblingGroup(of: object), group.readsBlocks else {
      return false
    }
    let block = Int(object.header.pointee.groupPosition) / group.blockCount
    readBlock(block, of: group)
    if object.header.pointee.row != nil {
      group.readsBlocks = true
      return true
    }
    if group.readsBlocks { group.readsBlocks = isRemoved(object.reference) }
    return false
  }

  /// Whether the view has no row of an object. Not where that cannot be read: its own fault says why.
  private func isRemoved(_ reference: ObjectReference) -> Bool {
    do {
      return try view.version(of: reference) == nil
    } catch {
      return false
    }
  }

  /// Reads the rows of the faults of a block in one request.
  ///
  /// - Parameter known: Rows that another request has passed. A fault with one of them is not read.
  func readBlock(_ block: Int, of group: SiblingGroup, known: [ObjectReference: LeasedRow] = [:]) {
    let capacity = group.positions(ofBlock: block).count
    withUnsafeTemporaryAllocation(of: ObjectReference.self, capacity: capacity) { references in
      withUnsafeTemporaryAllocation(of: SiblingGroup.Header.self, capacity: capacity) { headers in
        var count = collect(block, of: group, references, headers)
        func take(_ stored: StoredRow, at position: Int) throws {
          let row = try graph.store.rows.view(stored.bytes, of: references[position])
          headers[position].pointee.setRow(row, version: stored.version)
          headers[position].pointee.rowArrived(epoch)
          statistics.rowCount += 1
        }
        do {
          if !known.isEmpty {
            let all = 0..<count
            count = 0
            for position in all {
              if let row = known[references[position]] {
                try row.withRow { try take($0, at: position) }
              } else {
                (references[count], headers[count]) = (references[position], headers[position])
                count += 1
              }
            }
          }
          if count == 0 { return }
          statistics.rowRequestCount += 1
          let wanted = UnsafeBufferPointer(rebasing: UnsafeBufferPointer(references)[..<count])
          try view.readAhead(wanted, bytesMax: SiblingGroup.rowByteCountMax) { try take($1, at: $0) }
        } catch {
          // Whose row is damaged says so when its own fault fires.
          group.readsBlocks = false
        }
      }
    }
  }

  /// Finds the faults of a block; those without an instance get a header that waits for it.
  private func collect(
    _ block: Int, of group: SiblingGroup, _ references: UnsafeMutableBufferPointer<ObjectReference>,
    _ headers: UnsafeMutableBufferPointer<SiblingGroup.Header>
  ) -> Int {
    let isFirstTime = group.begin(block: block)
    var count = 0
    for position in group.positions(ofBlock: block) {
      let reference = group.references[position]
      guard let header = faultHeader(reference, at: position, of: group, makesHeaders: isFirstTime) else {
        continue
      }
      references[count] = reference
      headers[count] = header
      count &+= 1
    }
    return count
  }

  /// The header of a sibling that has no row yet and no unsaved changes.
  @inline(__always)
  private func faultHeader(
    _ reference: ObjectReference, at position: Int, of group: SiblingGroup, makesHeaders: Bool
  ) -> SiblingGroup.Header? {
    if let object = identityMap.object(reference) {
      return object.header.pointee.row == nil && object.overlay == nil ? object.header : nil
    }
    guard makesHeaders, group.header(at: position) == nil else { return nil }
    let header = graph.uncountedShape(of: reference)._withUnsafeGuaranteedRef {
      SiblingGroup.Header.make(reference, $0, in: memory)
    }
    group.keep(header, at: position)
    return header
  }
}
