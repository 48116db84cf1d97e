/// Orders entities by inheritance. The parents must not contain cycles.
enum EntityOrder {
  /// All entities, each after its superentity. Siblings are in ascending order.
  static func ancestorsFirst(_ parents: [Int?]) -> [Int] {
    var children: [[Int]] = Array(repeating: [], count: parents.count)
    var order: [Int] = []
    for (index, parent) in parents.enumerated() {
      if let parent { children[parent].append(index) } else { order.append(index) }
    }
    var next = 0
    while next < order.count {
      order += children[order[next]]
      next += 1
    }
    return order
  }
}

/// Finds the entities that are their own ancestors.
enum CycleSearch {
  private enum Mark { case new, onPath, done }

  /// For each entity, whether it is on a cycle of `parents`. Descendants of a cycle are not on the
  /// cycle.
  static func membersOfCycles(_ parents: [Int?]) -> [Bool] {
    var marks = Array(repeating: Mark.new, count: parents.count)
    var result = Array(repeating: false, count: parents.count)
    for start in parents.indices where marks[start] == .new {
      var path: [Int] = []
      var current: Int? = start
      while let index = current, marks[index] == .new {
        marks[index] = .onPath
        path.append(index)
        current = parents[index]
      }
      if let meeting = current, marks[meeting] == .onPath, let first = path.firstIndex(of: meeting) {
        for index in path[first...] { result[index] = true }
      }
      for index in path { marks[index] = .done }
    }
    return result
  }
}
