// Objects with adjacent ids, read together.
//
// A walk from object to object, such as a depth-first search, finds small groups, for example the
// three targets of one relationship. Without neighbourhoods, each request of the walk reads few
// rows, or the relationship of one object. Objects that were inserted together have adjacent ids,
// and are often used together. So, if the objects of an entity are read in this way, a request
// reads a *neighbourhood*: all objects of the entity with the same upper bits of the id. The rows
// of a neighbourhood are read first, and its relationships later. A neighbourhood is a group of
// siblings (SiblingGroup.swift).
//
// Invariants:
//   NB1. Each entity has credit. Making a neighbourhood reduces the credit. A read near the
//        previous read increases the credit, and so does each use of a neighbourhood's row. A read
//        far from the previous read reduces the credit and makes no neighbourhood, so it reads no
//        other object. If rows of neighbourhoods are not used, few neighbourhoods are made.
//   NB2. A neighbourhood is used only in the epoch in which it was made: its rows are those of one
//        view.
//   NB3. A neighbourhood may contain ids without an object. Such ids get no row and no instance.

internal import PerdurePredicates

/// Decides for each entity whether its objects are read with their neighbours.
struct Neighbourhoods {
  /// The number of ids in a neighbourhood. The first id is a multiple of this number.
  static let idCount: UInt64 = 64
  /// The minimum number of objects in a group whose reads are efficient without neighbourhoods.
  static let groupCountMin = 8

  private static let creditMin = 6
  private static let creditMax = 64
  private static let cost = 16

  private struct Locality {
    /// The last id that was read without a useful group.
    var last: UInt64
    var credit: Int
  }

  private var localities: [UInt16: Locality] = [:]

  /// The ids of the neighbourhood of an object, in ascending order.
  static func references(around reference: ObjectReference) -> [ObjectReference] {
    let first = reference.id & ~(idCount - 1)
    return (first..<first + idCount).map { ObjectReference(entity: reference.entityNumber, id: $0) }
  }

  /// The first reference of the neighbourhood of an object.
  @inline(__always)
  static func first(_ reference: ObjectReference) -> ObjectReference {
    ObjectReference(entity: reference.entityNumber, id: reference.id & ~(idCount - 1))
  }

  /// The position of an object in its neighbourhood.
  @inline(__always)
  static func position(_ reference: ObjectReference) -> Int { Int(reference.id & (idCount - 1)) }

  /// Records that the program used a row that was read with a neighbourhood.
  mutating func noteUse(_ reference: ObjectReference) {
    guard let credit = localities[reference.entityNumber]?.credit, credit < Self.creditMax else { return }
    localities[reference.entityNumber]?.credit = credit + 1
  }

  /// Records that an object must be read without a useful group.
  ///
  /// - Returns: Whether to read its neighbours too (NB1).
  mutating func shouldRead(around reference: ObjectReference) -> Bool {
    let id = reference.id
    guard var locality = localities[reference.entityNumber] else {
      localities[reference.entityNumber] = Locality(last: id, credit: 0)
      return false
    }
    // Another read of the same object says nothing about its neighbours.
    if id == locality.last { return false }
    let distance = max(id, locality.last) - min(id, locality.last)
    let isNear = distance <= Self.idCount
    locality.credit += isNear ? 1 : -2
    locality.last = id
    let isEnough = isNear && locality.credit >= Self.creditMin
    if isEnough { locality.credit -= Self.cost }
    locality.credit = max(locality.credit, -Self.cost)
    localities[reference.entityNumber] = locality
    return isEnough
  }
}
