import Foundation
import Perdure
import PerdureLog

/// A design as objects of Perdure.
final class PerdureDesign: DesignEngine {
  static let name = PerdureGraph.name

  let size: DesignSize
  let addition: DesignAddition
  private let path: String
  private var container: PersistentContainer?
  private var modules: [ManagedObjectID] = []
  private(set) var bases: [ManagedObjectID] = []
  private var added: [ManagedObjectID] = []
  /// The objects of a traversal, kept in memory for the hot traversals.
  private var walked: (context: ManagedObjectContext, objects: [ManagedObject])?

  init(folder: URL, design: DesignData) throws {
    path = folder.appendingPathComponent("design.perdure").path
    size = design.size
    addition = DesignAddition(design)
    try open()
    let context = try newContext()
    let module = Module(context: context)
    (module.number, module.type, module.buildDate) = (1, design.module.type, design.module.buildDate)
    module.manual = DesignData.text("I am the manual for module #00000001.\n", size: size.manualSize)
    let built = PerdureDesignBuilder(context, design)
    module.root = built.complexes[0]
    try context.save()
    modules = [module.objectID]
    bases = built.bases.map(\.objectID)
    try close()
  }

  private func open() throws {
    let container = try PersistentContainer(
      name: "design",
      classes: [
        DesignObject.self, AtomicPart.self, Connection.self, CompositePart.self, Document.self, Assembly.self,
        ComplexAssembly.self, BaseAssembly.self, Module.self,
      ], description: .init(path: path, durability: .processCrash))
    try container.loadPersistentStores()
    self.container = container
  }

  func close() throws {
    walked = nil
    try container?.close()
    container = nil
  }

  private func newContext() throws -> ManagedObjectContext {
    guard let container else { throw GraphClosed() }
    return container.newContext()
  }

  func prepare(_ workload: DesignWorkload) throws {
    if workload == .traverseHot, walked == nil {
      if container == nil { try open() }
      let context = try newContext()
      var walk = PerdureWalk(size, keepsObjects: true)
      if let root = root(context) { walk.visit(root) }
      walked = (context, walk.objects)
    }
    guard workload != .traverseHot else { return }
    try close()
    try open()
  }

  private func root(_ context: ManagedObjectContext) -> ComplexAssembly? {
    (context.object(with: modules[0]) as? Module)?.root
  }

  func perform(_ workload: DesignWorkload) throws -> Answer {
    let context = try walked?.context ?? newContext()
    switch workload {
    case .traverseCold, .traverseHot:
      var walk = PerdureWalk(size, keepsObjects: walked == nil)
      if let root = root(context) { walk.visit(root) }
      return walk.answer
    case .range:
      return try answer(AtomicPart.fetchRequest { $0.buildDate >= DesignSize.rangeStart }, context)
    case .scan: return try answer(AtomicPart.fetchRequest(), context)
    case .join: return try join(context)
    case .insert: added = try insert(context)
    case .delete:
      for id in added { context.delete(context.object(with: id)) }
      try context.save()
    }
    var answer = Answer()
    answer.addChanges(DesignAddition.count)
    return answer
  }

  private func answer(_ request: FetchRequest<AtomicPart>, _ context: ManagedObjectContext) throws -> Answer {
    var answer = Answer()
    for atomic in try context.fetch(request) { answer.add(atomic) }
    return answer
  }

  /// For every atomic part, finds its document by the document id. Uses a dictionary of the
  /// documents.
  private func join(_ context: ManagedObjectContext) throws -> Answer {
    var answer = Answer()
    var documents: [Int64: Document] = [:]
    for document in try context.fetch(Document.fetchRequest()) { documents[document.number] = document }
    for atomic in try context.fetch(AtomicPart.fetchRequest()) where documents[atomic.documentID] != nil {
      answer.add(atomic)
    }
    return answer
  }

  private func insert(_ context: ManagedObjectContext) throws -> [ManagedObjectID] {
    var made: [CompositePart] = []
    for (composite, base) in zip(addition.composites, addition.bases) {
      let part = PerdureDesignBuilder.insert(composite, size.compositeCount + made.count, size, context)
      (context.object(with: bases[base]) as? BaseAssembly)?.privates.insert(part)
      made.append(part)
    }
    try context.save()
    return made.map(\.objectID)
  }
}

/// Traversal T1 of the OO7 benchmark, over Perdure's objects.
struct PerdureWalk {
  private let size: DesignSize
  private let keepsObjects: Bool
  private(set) var answer = Answer()
  /// The visited objects, if `keepsObjects` is true. The array keeps them in memory.
  private(set) var objects: [ManagedObject] = []
  private var isVisited: [Bool]

  init(_ size: DesignSize, keepsObjects: Bool) {
    (self.size, self.keepsObjects) = (size, keepsObjects)
    isVisited = Array(repeating: false, count: size.atomicPerComposite)
  }

  mutating func visit(_ assembly: Assembly) {
    if keepsObjects { objects.append(assembly) }
    if let complex = assembly as? ComplexAssembly {
      for part in complex.parts { visit(part) }
    } else if let base = assembly as? BaseAssembly {
      for composite in base.privates { visit(composite) }
    }
  }

  private mutating func visit(_ composite: CompositePart) {
    if keepsObjects { objects.append(composite) }
    for place in isVisited.indices { isVisited[place] = false }
    if let root = composite.rootPart { visit(root) }
  }

  private mutating func visit(_ atomic: AtomicPart) {
    let place = (Int(atomic.number) - 1) % size.atomicPerComposite
    if isVisited[place] { return }
    isVisited[place] = true
    if keepsObjects { objects.append(atomic) }
    answer.add(atomic)
    for connection in atomic.outgoing {
      if keepsObjects { objects.append(connection) }
      if let target = connection.target { visit(target) }
    }
  }
}

/// Makes the objects of a design.
struct PerdureDesignBuilder {
  private(set) var complexes: [ComplexAssembly] = []
  private(set) var bases: [BaseAssembly] = []

  init(_ context: ManagedObjectContext, _ design: DesignData) {
    for (place, complex) in design.complexes.enumerated() {
      let made = ComplexAssembly(context: context)
      made.set(place, complex.part)
      if let parent = complex.parent { made.superAssembly = complexes[parent] }
      complexes.append(made)
    }
    let composites = design.composites.enumerated().map {
      Self.insert($0.element, $0.offset, design.size, context)
    }
    for (place, base) in design.bases.enumerated() {
      let made = BaseAssembly(context: context)
      made.set(place, base.part)
      made.superAssembly = complexes[base.parent]
      for part in base.privates { made.privates.insert(composites[part]) }
      for part in base.shared { made.shared.insert(composites[part]) }
      bases.append(made)
    }
  }

  /// Inserts a composite part with all its objects.
  static func insert(
    _ composite: DesignData.Composite, _ place: Int, _ size: DesignSize, _ context: ManagedObjectContext
  ) -> CompositePart {
    let made = CompositePart(context: context)
    made.set(place, composite.part)
    let document = Document(context: context)
    (document.number, document.title) = (Int64(place + 1), composite.title)
    document.text = DesignData.text(
      "I am the documentation for composite part #\(composite.title.suffix(8)).\n", size: size.documentSize)
    made.documentation = document
    let atomics = composite.atomics.enumerated().map { number, atomic in
      let part = AtomicPart(context: context)
      part.set(place * size.atomicPerComposite + number, atomic.part)
      (part.x, part.y, part.documentID) = (atomic.x, atomic.y, atomic.documentID)
      part.partOf = made
      return part
    }
    made.rootPart = atomics[0]
    for (source, links) in zip(atomics, composite.links) {
      for link in links {
        let connection = Connection(context: context)
        (connection.type, connection.length) = (link.type, link.length)
        (connection.source, connection.target) = (source, atomics[link.target])
      }
    }
    return made
  }
}

extension DesignObject {
  fileprivate func set(_ place: Int, _ part: DesignData.Part) {
    (number, type, buildDate) = (Int64(place + 1), part.type, part.buildDate)
  }
}
