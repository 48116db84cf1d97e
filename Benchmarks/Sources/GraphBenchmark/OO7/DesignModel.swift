import Foundation
import Perdure

// OO7's model. The texts of the documents and the manual are stored, but no query here reads them.

@Entity(isAbstract: true) class DesignObject: ManagedObject {
  var number: Int64
  var type: String
  var buildDate: Int64
}

@Entity(indexes: [["number"], ["buildDate"]]) final class AtomicPart: DesignObject {
  var x: Int64
  var y: Int64
  var documentID: Int64
  @Relationship(inverse: "source", deleteRule: .cascade) var outgoing: ToMany<Connection>
  @Relationship(inverse: "target", deleteRule: .cascade) var incoming: ToMany<Connection>
  @Relationship(inverse: "parts") var partOf: CompositePart?
  @Relationship(inverse: "rootPart") var rootOf: CompositePart?
}

@Entity final class Connection: ManagedObject {
  var type: String
  var length: Int64
  @Relationship(inverse: "outgoing") var source: AtomicPart?
  @Relationship(inverse: "incoming") var target: AtomicPart?
}

@Entity(indexes: [["number"]]) final class CompositePart: DesignObject {
  @Relationship(inverse: "partOf", deleteRule: .cascade) var parts: ToMany<AtomicPart>
  @Relationship(inverse: "rootOf") var rootPart: AtomicPart?
  @Relationship(inverse: "part", deleteRule: .cascade) var documentation: Document?
  @Relationship(inverse: "privates") var usedPrivatelyIn: ToMany<BaseAssembly>
  @Relationship(inverse: "shared") var usedIn: ToMany<BaseAssembly>
}

@Entity final class Document: ManagedObject {
  @Attribute(.indexed) var number: Int64
  @Attribute(.indexed) var title: String
  var text: String
  @Relationship(inverse: "documentation") var part: CompositePart?
}

@Entity(isAbstract: true) class Assembly: DesignObject {
  @Relationship(inverse: "parts") var superAssembly: ComplexAssembly?
}

@Entity final class ComplexAssembly: Assembly {
  @Relationship(inverse: "superAssembly", deleteRule: .cascade) var parts: ToMany<Assembly>
}

@Entity(indexes: [["number"]]) final class BaseAssembly: Assembly {
  @Relationship(inverse: "usedPrivatelyIn") var privates: ToMany<CompositePart>
  @Relationship(inverse: "usedIn") var shared: ToMany<CompositePart>
}

@Entity final class Module: DesignObject {
  var manual: String
  @Relationship var root: ComplexAssembly?
}

extension Answer {
  mutating func add(_ atomic: AtomicPart) {
    add(
      atomic: atomic.number, atomic.type, atomic.buildDate, x: atomic.x, y: atomic.y, atomic.documentID)
  }
}
