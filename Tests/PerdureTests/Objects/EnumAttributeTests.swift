import Perdure
import PerdureModel
import PerdureTestSupport
import Testing

@Suite("Enumerations as attributes")
struct EnumAttributeTests {
  enum Binding: String, AttributeValue, CaseIterable { case paper, cloth, leather }

  /// An enumeration without a case for the raw value zero.
  enum Grade: Int16, AttributeValue, CaseIterable { case poor = 3, good = 2, fine = 1 }

  struct Shelf: RawRepresentable, AttributeValue, Hashable {
    var rawValue: Int
    static var zeroValue: Shelf { Shelf(rawValue: 0) }
  }

  @Entity("Volume")
  final class Volume: ManagedObject {
    @Attribute(.indexed) var binding: Binding = .cloth
    var former: Binding?
    var grade: Grade
    var shelf: Shelf?
  }

  /// The same entity in an older program, which declares raw values instead of enumerations.
  @Entity("Volume")
  final class RawVolume: ManagedObject {
    @Attribute(.indexed) var binding: String = "cloth"
    var former: String?
    var grade: Int16
    var shelf: Int?
  }

  private func inDirectory(_ body: (String) throws -> Void) throws {
    let directory = try TemporaryDirectory()
    try withExtendedLifetime(directory) { try body(directory.path) }
  }

  private func container<T: ManagedObject>(_ type: T.Type, _ path: String) throws -> PersistentContainer {
    let container = PersistentContainer(
      name: "Volumes", model: try ManagedObjectModel([type.entityDescription]), classes: [type],
      at: path)
    try container.loadPersistentStores()
    return container
  }

  @Test("A case is stored as its raw value, and queries find this value")
  func cases() throws {
    try inDirectory { directory in
      let container = try container(Volume.self, "\(directory)/V.perdure")
      let context = container.newContext()
      for binding in Binding.allCases {
        let volume = Volume(context: context)
        volume.binding = binding
        volume.former = binding == .paper ? nil : .paper
        volume.grade = .good
        volume.shelf = Shelf(rawValue: 7)
      }
      let ordinary = Volume(context: context)
      #expect(ordinary.binding == .cloth)
      ordinary.grade = .fine
      try context.save()
      let other = container.newContext()
      #expect(try other.fetch(Volume.fetchRequest { $0.binding == .leather }).map(\.grade) == [.good])
      #expect(try other.count(for: Volume.fetchRequest { $0.former == .paper }) == 2)
      #expect(try other.count(for: Volume.fetchRequest { $0.shelf == Shelf(rawValue: 7) }) == 3)
      let leather = try #require(try other.fetch(Volume.fetchRequest { $0.binding == .leather }).first)
      #expect(leather.value(forKey: "binding") as? String == "leather")
      leather.setValue("paper", forKey: "binding")
      #expect(leather.binding == .paper)
    }
  }

  @Test("Unknown values set by name are refused, and nothing changes")
  func unknownFromOutside() throws {
    try inDirectory { directory in
      let volume = Volume(context: try container(Volume.self, "\(directory)/V.perdure").newContext())
      try volume.setCheckedValues(["binding": "leather", "grade": 2, "former": nil, "shelf": 12])
      #expect(volume.binding == .leather && volume.grade == .good && volume.shelf == Shelf(rawValue: 12))
      for values: [String: Any?] in [
        ["binding": "vellum", "grade": 3], ["grade": 77, "shelf": 4], ["former": "bark", "grade": 1],
      ] {
        let error = #expect(throws: PerdureError.self) { try volume.setCheckedValues(values) }
        #expect(error?.code == .validation && error?.details.count == 1)
        #expect(error?.message.contains("has no such value") == true)
      }
      #expect(throws: PerdureError.self) { try volume.setCheckedValue(4, forKey: "grade") }
      #expect(throws: PerdureError.self) { try volume.setCheckedValue("vellum", forKeyPath: "binding") }
      try volume.setCheckedValue(Grade.fine, forKey: "grade")
      #expect(volume.binding == .leather && volume.grade == .fine && volume.former == nil)
    }
  }

  @Test(
    "Without a value, an attribute without a zero case reads as the first case, and an optional one as nil"
  )
  func zero() throws {
    try inDirectory { directory in
      let volume = Volume(context: try container(Volume.self, "\(directory)/V.perdure").newContext())
      #expect(volume.grade == .poor)
      #expect(volume.former == nil)
      #expect(volume.shelf == nil)
    }
  }

  @Test("An unknown raw value reads as nil or as the zero value, and stays stored")
  func unknown() throws {
    try inDirectory { directory in
      let path = "\(directory)/V.perdure"
      do {
        let container = try container(RawVolume.self, path)
        let context = container.newContext()
        let volume = RawVolume(context: context)
        volume.binding = "vellum"
        volume.former = "bark"
        volume.grade = 77
        try context.save()
        try container.close()
      }
      let context = try container(Volume.self, path).newContext()
      let volume = try #require(try context.fetch(Volume.fetchRequest()).first)
      #expect(volume.binding == .paper)
      #expect(volume.former == nil)
      #expect(volume.grade == .poor)
      #expect(volume.value(forKey: "binding") as? String == "vellum")
      volume.shelf = Shelf(rawValue: 1)
      try context.save()
      #expect(volume.value(forKey: "binding") as? String == "vellum")
      #expect(volume.value(forKey: "former") as? String == "bark")
      volume.binding = .leather
      try context.save()
      #expect(volume.value(forKey: "binding") as? String == "leather")
    }
  }

  enum LaterBinding: String, AttributeValue, CaseIterable { case vellum, paper, cloth, leather }

  /// The same entity in a later program, whose enumeration has one more case.
  @Entity("Volume")
  final class LaterVolume: ManagedObject {
    @Attribute(.indexed) var binding: LaterBinding = .cloth
    var former: LaterBinding?
    var grade: Grade
    var shelf: Shelf?
  }

  @Test("After a case is added to an enumeration, old rows keep their cases, and the new case is found")
  func addedCase() throws {
    try inDirectory { directory in
      let path = "\(directory)/V.perdure"
      let first = try container(Volume.self, path)
      let old = first.newContext()
      let volume = Volume(context: old)
      (volume.binding, volume.former, volume.grade) = (.leather, .paper, .fine)
      try old.save()
      try first.close()
      let context = try container(LaterVolume.self, path).newContext()
      let same = try #require(try context.fetch(LaterVolume.fetchRequest { $0.binding == .leather }).first)
      #expect(same.binding == .leather && same.former == .paper)
      let new = LaterVolume(context: context)
      (new.binding, new.grade) = (.vellum, .good)
      same.former = .vellum
      try context.save()
      #expect(try context.count(for: LaterVolume.fetchRequest { $0.binding == .vellum }) == 1)
      #expect(try context.count(for: LaterVolume.fetchRequest { $0.former == .vellum }) == 1)
    }
  }
}
