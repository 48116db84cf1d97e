import Foundation
import Perdure

// Classes as a program declares them, in a module that is not Perdure.

@Entity final class Company: ManagedObject {
  @Attribute(.indexed) var name: String
  @Relationship(inverse: "company", deleteRule: .cascade) var workers: ToMany<Worker>
  @Relationship(inverse: "company", deleteRule: .cascade) var projects: ToMany<Project>
  // The store maintains this value, because it has an index.
  @Attribute(.indexed, derived: "workers.salary.@sum") private(set) var salarySum: Int64
}

@Entity final class Worker: ManagedObject {
  var number: Int64 = 0
  var firstName: String
  @Attribute(.indexed) var lastName: String
  @Attribute(.unique) var email: String
  @Attribute(.indexed) var salary: Int64 = 0
  var rating: Double = 0
  var isActive: Bool = true
  @Relationship(inverse: "workers") var company: Company?
  @Relationship(inverse: "reports") var manager: Worker?
  @Relationship(inverse: "manager") var reports: ToMany<Worker>
  @Relationship(inverse: "workers") var projects: ToMany<Project>
}

@Entity final class Project: ManagedObject {
  @Attribute(.indexed) var title: String
  @Relationship(inverse: "projects") var company: Company?
  @Relationship(inverse: "projects") var workers: ToMany<Worker>
}

/// An entity without relationships, for unsaved changes that do not affect any query.
@Entity final class Note: ManagedObject {
  @Attribute(.indexed) var number: Int64 = 0
  var text: String
}
