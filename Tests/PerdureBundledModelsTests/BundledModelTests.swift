import Foundation
import PerdureBundledModels
import PerdureTestSupport
import Testing

@Entity final class Company: ManagedObject {
  var name: String = ""
  @Relationship(inverse: "company", deleteRule: .cascade) var workers: ToMany<Worker>
}

@Entity final class Worker: ManagedObject {
  var salary: Double = 0
  @Relationship(inverse: "workers") var company: Company?
}

@Suite("Containers with the model of a bundle")
struct BundledModelTests {
  @Test("A container finds the current version of its model in the bundle of the module")
  func finds() throws {
    let container = try PersistentContainer(
      name: "Staff", classes: [Company.self, Worker.self], bundle: .module, description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let acme = Company(context: context, name: "Acme")
    _ = Worker(context: context, salary: 4200, company: acme)
    try context.save()
    #expect(container.managedObjectModel.versionIdentifiers == ["2"])
    #expect(try container.newContext().fetch(Worker.self) { $0.company.name == "Acme" }.count == 1)
  }

  @Test("Without a description, the store is in the default directory under the name of the model")
  func defaultDirectory() throws {
    let container = try PersistentContainer(name: "Staff", bundle: .module)
    let expected = PersistentContainer.defaultDirectoryURL().appendingPathComponent("Staff.perdure")
    #expect(container.persistentStoreDescription.path == expected.path)
    #expect(container.persistentStoreDescription.createsFolders)
  }

  @Test("A missing model is an error that lists the models and the lines for Package.swift")
  func missing() throws {
    let error = #expect(throws: BundledModelError.self) {
      try PersistentContainer(name: "Wine", bundle: .module, description: .inMemory)
    }
    #expect(
      error
        == .noModel(
          name: "Wine", bundle: Bundle.module.bundlePath, files: ["Broken.xcdatamodel", "Staff.xcdatamodeld"]
        ))
    let text = try #require(error?.errorDescription)
    #expect(error?.localizedDescription == text && error?.description == text)
    for part in [
      "has no Wine.xcdatamodeld.", "It has Broken.xcdatamodel, Staff.xcdatamodeld.",
      "resources: [.copy(\"Wine.xcdatamodeld\")]", ".product(name: \"PerdureBundledModels\"",
    ] {
      #expect(text.contains(part), "\(text)")
    }
  }

  @Test("The error for a bundle without models lists at most twenty of its files")
  func files() throws {
    let directory = try TemporaryDirectory()
    let bundle = try #require(Bundle(path: directory.path))
    func text() -> String? {
      #expect(throws: BundledModelError.self) {
        try PersistentContainer(name: "Staff", bundle: bundle, description: .inMemory)
      }?.description
    }
    #expect(text()?.contains("It has no files.") == true)
    for number in 10..<32 { try Data().write(to: URL(filePath: directory.file("\(number).txt"))) }
    #expect(text()?.contains("It has 10.txt, 11.txt,") == true)
    #expect(text()?.contains(", 29.txt and 2 more.") == true)
  }

  @Test("An invalid model is an error with all findings and their lines")
  func invalid() throws {
    let error = #expect(throws: BundledModelError.self) {
      try PersistentContainer(name: "Broken", bundle: .module, description: .inMemory)
    }
    guard case .invalidModel(let findings)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(findings.errors.map(\.line) == [3, 4])
    #expect(error?.description.contains("/contents:4: error: C: ") == true)
  }
}
