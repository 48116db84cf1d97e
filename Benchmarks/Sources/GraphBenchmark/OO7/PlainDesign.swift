import Foundation

// A design as plain classes, either read from a database or made from values.

final class PlainAssembly {
  let type: String
  let buildDate: Int64
  var parts: [PlainAssembly] = []
  /// The private composite parts, if this is a base assembly.
  var privates: [PlainComposite] = []

  init(_ part: DesignData.Part) { (type, buildDate) = (part.type, part.buildDate) }
}

final class PlainComposite {
  let id: Int64
  /// The atomic parts; empty until they are read.
  var atomics: [PlainAtomic] = []

  init(id: Int64) { self.id = id }
}

final class PlainAtomic {
  let id: Int64
  let type: String
  var buildDate: Int64
  var x: Int64
  var y: Int64
  let documentID: Int64
  /// The connections to other atomic parts of the same composite part.
  var connections: [PlainConnection] = []

  init(id: Int64, type: String, buildDate: Int64, x: Int64, y: Int64, documentID: Int64) {
    (self.id, self.type, self.buildDate) = (id, type, buildDate)
    (self.x, self.y, self.documentID) = (x, y, documentID)
  }
}

final class PlainConnection {
  let type: String
  let length: Int64
  unowned let target: PlainAtomic

  init(type: String, length: Int64, target: PlainAtomic) {
    (self.type, self.length, self.target) = (type, length, target)
  }
}

/// OO7's T1 with plain classes. Objects that are not in memory are read during the traversal.
struct PlainWalk {
  let size: DesignSize
  let read: (PlainComposite) throws -> Void
  private(set) var answer = Answer()
  private var isVisited: [Bool]

  init(_ size: DesignSize, read: @escaping (PlainComposite) throws -> Void = { _ in }) {
    (self.size, self.read) = (size, read)
    isVisited = Array(repeating: false, count: size.atomicPerComposite)
  }

  mutating func visit(_ assembly: PlainAssembly) throws {
    for part in assembly.parts { try visit(part) }
    for composite in assembly.privates {
      if composite.atomics.isEmpty { try read(composite) }
      for place in isVisited.indices { isVisited[place] = false }
      visit(composite.atomics[0])
    }
  }

  private mutating func visit(_ atomic: PlainAtomic) {
    let place = (Int(atomic.id) - 1) % size.atomicPerComposite
    if isVisited[place] { return }
    isVisited[place] = true
    answer.add(atomic)
    for connection in atomic.connections { visit(connection.target) }
  }
}

extension Answer {
  mutating func add(_ atomic: PlainAtomic) {
    add(
      atomic: atomic.id, atomic.type, atomic.buildDate, x: atomic.x, y: atomic.y, atomic.documentID)
  }
}

/// The lower bound: all objects are in memory, and nothing is stored.
final class PlainDesign: DesignEngine {
  static let name = PlainGraph.name

  private let size: DesignSize
  private let addition: DesignAddition
  private var complexes: [PlainAssembly] = []
  private var bases: [PlainAssembly] = []
  private var composites: [PlainComposite] = []
  private var documentIDs: Set<Int64> = []

  init(folder: URL, design: DesignData) {
    size = design.size
    addition = DesignAddition(design)
    for complex in design.complexes {
      let assembly = PlainAssembly(complex.part)
      if let parent = complex.parent { complexes[parent].parts.append(assembly) }
      complexes.append(assembly)
    }
    for composite in design.composites { add(composite) }
    for base in design.bases {
      let assembly = PlainAssembly(base.part)
      assembly.privates = base.privates.map { composites[$0] }
      complexes[base.parent].parts.append(assembly)
      bases.append(assembly)
    }
  }

  func prepare(_ workload: DesignWorkload) {}
  func close() {}

  func perform(_ workload: DesignWorkload) throws -> Answer {
    switch workload {
    case .traverseCold, .traverseHot:
      var walk = PlainWalk(size)
      try walk.visit(complexes[0])
      return walk.answer
    case .range: return atomics { $0.buildDate >= DesignSize.rangeStart }
    case .scan: return atomics { _ in true }
    case .join: return atomics { documentIDs.contains($0.documentID) }
    case .insert:
      for (composite, base) in zip(addition.composites, addition.bases) {
        add(composite)
        bases[base].privates.append(composites[composites.count - 1])
      }
    case .delete:
      for base in addition.bases { bases[base].privates.removeAll { $0.id > size.compositeCount } }
      for composite in composites.suffix(DesignAddition.count) { documentIDs.remove(composite.id) }
      composites.removeLast(DesignAddition.count)
    }
    var answer = Answer()
    answer.addChanges(DesignAddition.count)
    return answer
  }

  private func atomics(_ isWanted: (PlainAtomic) -> Bool) -> Answer {
    var answer = Answer()
    for composite in composites {
      for atomic in composite.atomics where isWanted(atomic) { answer.add(atomic) }
    }
    return answer
  }

  private func add(_ composite: DesignData.Composite) {
    let made = PlainComposite(id: Int64(composites.count + 1))
    let first = composites.count * size.atomicPerComposite
    composites.append(made)
    documentIDs.insert(made.id)
    made.atomics = composite.atomics.enumerated().map { place, atomic in
      PlainAtomic(
        id: Int64(first + place + 1), type: atomic.part.type, buildDate: atomic.part.buildDate, x: atomic.x,
        y: atomic.y, documentID: atomic.documentID)
    }
    for (atomic, links) in zip(made.atomics, composite.links) {
      atomic.connections = links.map {
        PlainConnection(type: $0.type, length: $0.length, target: made.atomics[$0.target])
      }
    }
  }
}
