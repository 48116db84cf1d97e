// The staff graph as plain values: the required content of a context after any sequence of changes.

import Perdure

/// One object.
struct TwinObject: Equatable {
  enum Kind: CaseIterable { case company, worker, project, department, contract }

  let kind: Kind
  var name = ""
  var isDeleted = false
  /// The targets of to-one relationships, by property name: company (of workers, departments and
  /// contracts), leads, spouse, mentor, and parent.
  var toOne: [String: Int] = [:]
  /// One-way links to projects.
  var bookmarks: Set<Int> = []
}

/// Two linked objects. Of two friends, the smaller number comes first.
struct TwinLink: Hashable {
  let from: Int
  let to: Int
}

/// All objects by number.
struct StaffTwin: Equatable {
  var objects: [Int: TwinObject] = [:]
  /// Links from workers to projects.
  var membership: Set<TwinLink> = []
  var friendship: Set<TwinLink> = []

  func living(_ kind: TwinObject.Kind) -> [Int] {
    objects.filter { $0.value.kind == kind && !$0.value.isDeleted }.keys.sorted()
  }

  /// The objects that are not deleted and whose to-one property leads to the target.
  func sources(_ property: String, of target: Int, _ kind: TwinObject.Kind) -> Set<Int> {
    Set(living(kind).filter { objects[$0]?.toOne[property] == target })
  }

  func friends(of worker: Int) -> Set<Int> {
    Set(friendship.compactMap { $0.from == worker ? $0.to : $0.to == worker ? $0.from : nil })
  }

  // MARK: Changes

  mutating func set(_ property: String, of source: Int, to target: Int?) {
    if property == "leads", let target {
      for other in sources("leads", of: target, .worker) { objects[other]?.toOne["leads"] = nil }
    }
    if property == "spouse" {
      if let old = objects[source]?.toOne["spouse"] { objects[old]?.toOne["spouse"] = nil }
      if let target, let other = objects[target]?.toOne["spouse"] { objects[other]?.toOne["spouse"] = nil }
      if let target { objects[target]?.toOne["spouse"] = source }
    }
    objects[source]?.toOne[property] = target
  }

  mutating func toggleFriends(_ first: Int, _ second: Int) {
    friendship.formSymmetricDifference([TwinLink(from: min(first, second), to: max(first, second))])
  }

  mutating func toggleMember(_ worker: Int, _ project: Int) {
    membership.formSymmetricDifference([TwinLink(from: worker, to: project)])
  }

  /// Applies the delete rules.
  mutating func propagateDeletes() {
    var isGrowing = true
    while isGrowing {
      isGrowing = false
      for (number, object) in objects where !object.isDeleted && object.kind == .department {
        let owners = [object.toOne["company"], object.toOne["parent"]].compactMap { $0 }
        if owners.contains(where: isDeleted) {
          objects[number]?.isDeleted = true
          isGrowing = true
        }
      }
    }
    let living = Set(objects.filter { !$0.value.isDeleted }.keys)
    for (number, object) in objects where !object.isDeleted && object.kind != .contract {
      objects[number]?.toOne = object.toOne.filter { living.contains($0.value) }
      objects[number]?.bookmarks = object.bookmarks.intersection(living)
    }
    membership = membership.filter { living.contains($0.from) && living.contains($0.to) }
    friendship = friendship.filter { living.contains($0.from) && living.contains($0.to) }
  }

  func isDeleted(_ number: Int) -> Bool { objects[number]?.isDeleted ?? true }

  /// Whether a contract denies the deletion of a company.
  var isDenied: Bool {
    objects.values.contains { object in
      object.kind == .contract && !object.isDeleted && object.toOne["company"].map(isDeleted) == true
    }
  }

  /// Removes deleted objects.
  mutating func save() {
    objects = objects.filter { !$0.value.isDeleted }
  }
}
