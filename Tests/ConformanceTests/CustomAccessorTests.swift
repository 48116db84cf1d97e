import Foundation
import Perdure
import Testing

private enum Mood: String, AttributeValue, CaseIterable { case calm, wild }

/// Records the calls of accessors.
private final class Calls { var all: [String] = [] }

@Entity private class Event: ManagedObject {
  @Transient var calls: Calls = Calls()

  @Attribute(.indexed) var date: Date? {
    get {
      willAccessValue(forKey: "date")
      defer { didAccessValue(forKey: "date") }
      return primitiveDate
    }
    set {
      calls.all.append("set date")
      willChangeValue(forKey: "date")
      primitiveDate = newValue
      didChangeValue(forKey: "date")
      primitiveSection = nil
    }
  }

  /// Computed from the date, and cached until the date changes.
  @Attribute(.transient) var section: String? {
    get {
      if let section = primitiveSection { return section }
      calls.all.append("make section")
      let made = date.map { "\(Int($0.timeIntervalSinceReferenceDate) / 100)" }
      primitiveSection = made
      return made
    }
    set { primitiveSection = newValue }
  }

  @Attribute(.optional, .maximum(100)) var size: Int16 {
    get { primitiveSize + 1 }
    set {
      calls.all.append("set size \(newValue)")
      willChangeValue(forKey: "size")
      primitiveSize = newValue - 1
      didChangeValue(forKey: "size")
    }
  }

  @Attribute(.optional) var mood: Mood {
    get { primitiveMood }
    set {
      calls.all.append("set mood")
      willChangeValue(forKey: "mood")
      primitiveMood = newValue
      didChangeValue(forKey: "mood")
    }
  }

  @Attribute(.transient) var box: Calls? {
    get { primitiveBox }
    set {
      calls.all.append("set box")
      primitiveBox = newValue
    }
  }

  @Attribute var tags: [String]? {
    get { primitiveTags ?? ["none"] }
    set {
      willChangeValue(forKey: "tags")
      primitiveTags = newValue
      didChangeValue(forKey: "tags")
    }
  }
}

@Entity private final class Party: Event { var place: String? }

@Accessors private final class Meeting: ManagedObject {
  var title: String?
  @Attribute var start: TimeInterval {
    get { primitiveStart }
    set {
      willChangeValue(forKey: "start")
      primitiveStart = newValue + 1
      didChangeValue(forKey: "start")
    }
  }
}

@Suite("Accessors of the program for attributes")
struct CustomAccessorTests {
  private func context() throws -> ManagedObjectContext {
    try Sandbox(Event.self, Party.self).container.newContext()
  }

  private let date = Date(timeIntervalSinceReferenceDate: 500)

  @Test("A program's accessors read and change the attribute with their name, and a save stores the value")
  func stored() throws {
    let context = try context()
    let event = Event(context: context, date: date, size: 5)
    #expect(event.calls.all == ["set date", "set size 5"])
    #expect(event.date == date && event.section == "5" && event.size == 5 && event.primitiveSize == 4)
    #expect(event.changedValues()["size"] as? Int16 == 4)
    try context.save()
    #expect(!context.hasChanges && event.section == "5")
    event.date = Date(timeIntervalSinceReferenceDate: 900)
    #expect(context.hasChanges && event.section == "9")
    context.rollback()
    #expect(event.date == date)
    try context.save()
    let found = try context.fetch(Event.fetchRequest { $0.date == date && $0.size == 4 })
    #expect(found == [event])
  }

  @Test("Access by name calls the program's accessors")
  func byName() throws {
    let context = try context()
    let event = Party(context: context)
    event.setValue(date, forKey: "date")
    event["size"] = NSNumber(value: 7)
    event.setValue("wild", forKeyPath: "mood")
    try event.setCheckedValues(["tags": ["a"], "box": event.calls])
    #expect(
      event.calls.all == ["set date", "set size 7", "set mood", "set box"])
    #expect(event.value(forKey: "date") as? Date == date)
    #expect(event.value(forKeyPath: "section") as? String == "5")
    #expect(event.value(forKey: "size") as? Int16 == 7 && event.primitiveValue(forKey: "size") as? Int16 == 6)
    #expect(event.value(forKey: "mood") as? String == "wild" && event.mood == .wild)
    #expect(event.value(forKey: "tags") as? [String] == ["a"])
    #expect(event.value(forKey: "box") as? Calls === event.calls)
    #expect(event.place == nil && event.value(forKey: "place") == nil)
    try context.save()
    context.refreshAllObjects()
    #expect(event.value(forKey: "size") as? Int16 == 7)
    #expect(try event.checkedValue(forKey: "size") as? Int16 == 7)
  }

  @Test("If the attribute has no value, access by name returns the result of the program's getter")
  func absent() throws {
    let context = try context()
    let event = Event(context: context)
    #expect(event.value(forKey: "size") as? Int16 == 1 && event.primitiveValue(forKey: "size") == nil)
    #expect(event.value(forKey: "tags") as? [String] == ["none"] && event.value(forKey: "date") == nil)
    try context.save()
    #expect(event.primitiveValue(forKey: "tags") == nil)
  }

  @Test("A value that a program's setter does not accept is set without the setter, or refused")
  func unsuitable() throws {
    let context = try context()
    let event = Event(context: context)
    event.size = 3
    event.calls.all = []
    event.setValue(nil, forKey: "size")
    #expect(event.calls.all == [] && event.primitiveValue(forKey: "size") == nil)
    event.setValue(nil, forKey: "date")
    #expect(event.calls.all == ["set date"])
    #expect(throws: PerdureError.self) { try event.setCheckedValue("x", forKey: "size") }
    #expect(throws: PerdureError.self) { try event.setCheckedValue("angry", forKey: "mood") }
    event.setValue("angry", forKey: "mood")
    #expect(event.calls.all == ["set date"] && event.mood == .calm)
    #expect(event.primitiveValue(forKey: "mood") as? String == "angry")
    event.size = 102
    #expect(refusals(context) == ["1610 size"])
  }

  @Test("Setting the primitive value is a change only between willChangeValue and didChangeValue")
  func primitive() throws {
    let context = try context()
    let event = Event(context: context)
    try context.save()
    event.primitiveSize = 9
    #expect(!context.hasChanges && event.size == 10)
    event.willChangeValue(forKey: "size")
    event.primitiveSize = 8
    event.didChangeValue(forKey: "size")
    #expect(context.hasChanges)
    try context.save()
    context.refreshAllObjects()
    #expect(event.size == 9)
  }

  @Test("A class with @Accessors can have its own accessors, with a type that differs from the attribute's")
  func ofAnotherType() throws {
    let model = try ManagedObjectModel([
      EntityDescription("Meeting", className: "Meeting", properties: [.date("start"), .string("title")])
    ])
    let context = try Sandbox(model, Meeting.self).container.newContext()
    let meeting = Meeting(context: context)
    meeting.start = 4
    #expect(meeting.start == 5)
    #expect(meeting.value(forKey: "start") as? Date == Date(timeIntervalSinceReferenceDate: 5))
    meeting.setValue(Date(timeIntervalSinceReferenceDate: 7), forKey: "start")
    #expect(meeting.start == 8)
    meeting.setValue(nil, forKey: "start")
    #expect(meeting.start == 0)
    #expect(meeting.value(forKey: "start") as? Date == Date(timeIntervalSinceReferenceDate: 0))
    #expect(meeting.primitiveValue(forKey: "start") == nil)
    try context.save()
  }
}
