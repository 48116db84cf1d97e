import Foundation
import Perdure
import PerdurePredicates
import Testing

@Entity private final class Meeting: ManagedObject {
  @Attribute var title: String? {
    get { primitiveTitle?.uppercased() }
    set {
      willChangeValue(forKey: "title")
      primitiveTitle = newValue
      didChangeValue(forKey: "title")
    }
  }
  var minutes: Int16 = 90
  /// Computed at the first read, and kept.
  @Attribute(.transient) var hours: Double? {
    get {
      if primitiveHours == nil { primitiveHours = Double(minutes) / 60 }
      return primitiveHours
    }
    set { primitiveHours = newValue }
  }
  @Attribute(.transient) var end: Date? {
    get { minutes < 0 ? nil : Date(timeIntervalSinceReferenceDate: Double(minutes) * 60) }
    set {}
  }
  @Attribute(.transient, .optional) var rate: Decimal {
    get { 2 }
    set {}
  }
  /// An attribute of a type that no stored attribute can have.
  @Attribute(.transient) var parts: [Substring]? {
    get { primitiveParts ?? ["a"] }
    set { primitiveParts = newValue }
  }
}

@Suite("Snapshots of computed transient attributes")
struct ComputedSnapshotTests {
  @Test("A snapshot has the results of the getters of transient attributes, and the stored values of others")
  func snapshots() throws {
    let container = try PersistentContainer(name: "Meetings", classes: [Meeting.self], description: .inMemory)
    try container.loadPersistentStores()
    let context = container.newContext()
    let meeting = Meeting(context: context)
    meeting.title = "plan"
    for _ in 0..<2 {
      let picture = try meeting.snapshot()
      #expect(picture["hours"]?.value == .double(1.5) && picture["rate"]?.value == .decimal(2))
      #expect(picture["end"]?.value == .date(Date(timeIntervalSinceReferenceDate: 5400)))
      #expect(picture["title"]?.value == .string("plan") && picture["parts"] == nil)
      let typed = try TypedSnapshot(meeting)
      #expect(typed.hours == 1.5 && typed.rate == 2 && typed.end == meeting.end)
      #expect(meeting.value(forKey: "hours") as? Double == typed.hours)
      try context.save()
      #expect(!context.hasChanges)
    }
    meeting.minutes = -60
    #expect(try meeting.snapshot()["end"] == .attribute(.null))
  }
}
