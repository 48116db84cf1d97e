import Foundation
import PerdureFileIO
import PerdureLog
import PerdureModel
import PerdureTestSupport
import Testing

@testable import Perdure

@Suite("The default directory of stores")
struct DefaultDirectoryTests {
  private func path(
    _ platform: DefaultDirectory.Platform, _ environment: [String: String], home: String = "/home/ada"
  ) -> String {
    DefaultDirectory.path(on: platform, environment: environment, home: home, process: "staff")
  }

  @Test("On Linux, the directory is in XDG_DATA_HOME, or else in .local/share of the home folder")
  func linux() {
    #expect(path(.xdg, ["XDG_DATA_HOME": "/data", "HOME": "/home/eve"]) == "/data/staff")
    #expect(path(.xdg, ["XDG_DATA_HOME": "/data/"]) == "/data/staff")
    #expect(path(.xdg, ["HOME": "/home/eve"]) == "/home/eve/.local/share/staff")
    #expect(path(.xdg, [:]) == "/home/ada/.local/share/staff")
  }

  @Test("Empty variables and relative paths count as absent")
  func absent() {
    for value in ["", "data", "./data"] {
      #expect(path(.xdg, ["XDG_DATA_HOME": value, "HOME": value]) == "/home/ada/.local/share/staff")
    }
    #expect(
      path(.windows, ["LOCALAPPDATA": "Data"], home: "C:\\Users\\ada")
        == "C:\\Users\\ada\\AppData\\Local\\staff")
  }

  @Test("On Apple platforms, the directory is in Application Support; on Windows, in LOCALAPPDATA")
  func others() {
    #expect(path(.apple, ["HOME": "/other"]) == "/home/ada/Library/Application Support/staff")
    #expect(path(.windows, ["LOCALAPPDATA": "D:\\Data"]) == "D:\\Data\\staff")
    #expect(
      path(.windows, ["USERPROFILE": "C:\\Users\\eve\\"]) == "C:\\Users\\eve\\AppData\\Local\\staff")
  }

  @Test("A container without a path has its store in the default directory")
  func containers() throws {
    let expected = PersistentContainer.defaultDirectoryURL().appendingPathComponent("Staff.perdure").path
    let model = try ManagedObjectModel(Staff.entities)
    let container = PersistentContainer(name: "Staff", managedObjectModel: model, classes: Staff.classes)
    #expect(container.persistentStoreDescription.path == expected)
    #expect(container.persistentStoreDescription.createsFolders)
    #expect(!FileManager.default.fileExists(atPath: expected))
  }

  @Test("Loading a store creates missing folders only if the description requests it")
  func createsFolders() throws {
    let fileSystem = InMemoryFileSystem()
    var description = PersistentStoreDescription(path: "/data/staff/new/Staff.perdure")
    description.configuresEngine = { $0.fileSystem = fileSystem }
    let model = try ManagedObjectModel(Staff.entities)
    let refused = PersistentContainer(
      name: "Staff", model: model, classes: Staff.classes, description: description)
    #expect(throws: PerdureError.self) { try refused.loadPersistentStores() }
    #expect(try fileSystem.kind(of: "/data") == nil)
    let plain = description
    description.createsFolders = true
    #expect(description != plain)
    let container = PersistentContainer(
      name: "Staff", model: model, classes: Staff.classes, description: description)
    for _ in 0..<2 {
      try container.loadPersistentStores()
      try container.close()
    }
    #expect(try fileSystem.contents(of: "/data/staff/new/Staff.perdure").contains("SUPERBLOCK"))
  }
}
