import Perdure
import Testing

@testable import ReadingList

@Suite("Reading list")
struct ReadingListTests {
  @Test("Unread books are listed by author and title")
  func unread() throws {
    let list = try ReadingList(.inMemory)
    try list.add("Solaris", by: "Stanisław Lem")
    try list.add("The Dispossessed", by: "Ursula K. Le Guin")
    try list.add("The Invincible", by: "Stanisław Lem")
    try list.add("Fiasco", by: "Stanisław Lem")
    try list.finish("Solaris", stars: 5)
    #expect(
      try list.unread() == [
        "Stanisław Lem: Fiasco", "Stanisław Lem: The Invincible",
        "Ursula K. Le Guin: The Dispossessed",
      ])
  }

  @Test("A book with six stars stays unread")
  func sixStars() throws {
    let list = try ReadingList(.inMemory)
    try list.add("Solaris", by: "Stanisław Lem")
    let error = #expect(throws: PerdureError.self) { try list.finish("Solaris", stars: 6) }
    #expect(error?.code == .numberTooLarge)
    #expect(try list.unread() == ["Stanisław Lem: Solaris"])
  }
}
