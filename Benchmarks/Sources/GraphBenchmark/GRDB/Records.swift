import GRDB

// Records as users of GRDB write them: Codable structs with associations.

struct CompanyRecord: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "company"
  static let workers = hasMany(WorkerRecord.self, using: ForeignKey(["company"]))

  var id: Int64
  var name: String
  var workerCount: Int
  var salarySum: Int64

  enum CodingKeys: String, CodingKey, ColumnExpression {
    case id, name
    case workerCount = "worker_count"
    case salarySum = "salary_sum"
  }
}

struct WorkerRecord: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "worker"
  static let links = hasMany(LinkRecord.self, using: ForeignKey(["worker"]))
  static let projects = hasMany(
    ProjectRecord.self, through: links, using: LinkRecord.project, key: "projects")

  var id: Int64
  var firstName: String
  var lastName: String
  var email: String
  var salary: Int64
  var rating: Double
  var hired: Double
  var isActive: Bool
  var company: Int64?
  var manager: Int64?

  enum CodingKeys: String, CodingKey, ColumnExpression {
    case id, email, salary, rating, hired, company, manager
    case firstName = "first_name"
    case lastName = "last_name"
    case isActive = "active"
  }

  var values: WorkerValues {
    WorkerValues(
      firstName: firstName, lastName: lastName, email: email, salary: salary, rating: rating, hired: hired,
      isActive: isActive)
  }

  init(id: Int64, _ values: WorkerValues, company: Int64, manager: Int64?) {
    (self.id, self.company, self.manager) = (id, company, manager)
    (firstName, lastName, email) = (values.firstName, values.lastName, values.email)
    (salary, rating, hired, isActive) = (values.salary, values.rating, values.hired, values.isActive)
  }
}

struct ProjectRecord: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "project"

  var id: Int64
  var title: String
  var company: Int64?

  enum CodingKeys: String, CodingKey, ColumnExpression {
    case id, title, company
  }
}

/// A worker's work on a project.
struct LinkRecord: Codable, FetchableRecord, PersistableRecord {
  static let databaseTableName = "worker_project"
  static let project = belongsTo(ProjectRecord.self, using: ForeignKey(["project"]))

  var worker: Int64
  var project: Int64

  enum CodingKeys: String, CodingKey, ColumnExpression {
    case worker, project
  }
}

/// A worker and its projects, fetched together.
struct WorkerWithProjects: Decodable, FetchableRecord {
  var worker: WorkerRecord
  var projects: [ProjectRecord]
}
