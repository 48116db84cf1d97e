import PerdureModel

/// A model of four entities with each kind of line.
enum SmallModel {
  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel([
      EntityDescription(
        "Worker", superentity: "Person",
        properties: [
          .string("email", optional: false), .double("salary"), .composite("home", [.string("street")]),
          .toOne("boss", "Worker", inverse: "team"),
          .toOne("company", "Company", inverse: "workers", optional: false),
          .toMany("team", "Worker", inverse: "boss", maxCount: 9, deleteRule: .deny),
        ], uniquenessConstraints: [["email"]]),
      EntityDescription(
        "Person", isAbstract: true,
        properties: [
          .string("name"), .date("born"), .toMany("friends", "Person", inverse: "friends", transient: true),
        ]),
      EntityDescription(
        "Company",
        properties: [
          .string("name", optional: false), .derived("workerCount", "workers.@count"),
          .toOne("address", "Address", deleteRule: .cascade), .toOne("director", "Worker"),
          .toMany("workers", "Worker", inverse: "company", deleteRule: .cascade, ordered: true),
        ]),
      EntityDescription("Address", properties: [.string("street"), .string("town")]),
    ])
  }
}
