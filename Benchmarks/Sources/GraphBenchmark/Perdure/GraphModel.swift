import Foundation
import Perdure

@Entity final class Company: ManagedObject {
  var name: String
  @Relationship(inverse: "company", deleteRule: .cascade) var workers: ToMany<Worker>
  @Relationship(inverse: "company", deleteRule: .cascade) var projects: ToMany<Project>
  // The store computes the count and the sum on request.
  @Attribute(derived: "workers.@count") private(set) var workerCount: Int
  @Attribute(derived: "workers.rating.@sum") private(set) var ratingSum: Double
  // The store maintains this value, because it has an index.
  @Attribute(.indexed, derived: "workers.salary.@sum") private(set) var salarySum: Int64
}

@Entity final class Worker: ManagedObject {
  var firstName: String
  @Attribute(.indexed) var lastName: String
  @Attribute(.unique) var email: String
  @Attribute(.indexed) var salary: Int64 = 0
  var rating: Double = 0
  var hired: Date = Date(timeIntervalSinceReferenceDate: 0)
  var isActive: Bool = true
  @Relationship(inverse: "workers") var company: Company?
  @Relationship(inverse: "reports") var manager: Worker?
  @Relationship(inverse: "manager") var reports: ToMany<Worker>
  @Relationship(inverse: "workers") var projects: ToMany<Project>
}

@Entity final class Project: ManagedObject {
  var title: String
  @Relationship(inverse: "projects") var company: Company?
  @Relationship(inverse: "projects") var workers: ToMany<Worker>
}

extension Worker {
  /// All attributes, read through the accessors that programs use.
  var values: WorkerValues {
    WorkerValues(
      firstName: firstName, lastName: lastName, email: email, salary: salary, rating: rating,
      hired: hired.timeIntervalSinceReferenceDate, isActive: isActive)
  }

  func set(_ values: WorkerValues) {
    (firstName, lastName, email) = (values.firstName, values.lastName, values.email)
    (salary, rating, isActive) = (values.salary, values.rating, values.isActive)
    hired = Date(timeIntervalSinceReferenceDate: values.hired)
  }
}
