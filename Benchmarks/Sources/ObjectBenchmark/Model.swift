import Foundation
import Perdure

// Classes as users write them, in a separate module. For some of them, a plain class has the same
// properties.

/// A stored object.
@Entity final class Account: ManagedObject {
  var number: Int64
  var balance: Double = 0
  var isOpen: Bool = true
  var code: String
  var note: String = ""
  var opened: Date = Date(timeIntervalSinceReferenceDate: 0)
  var limit: Int64?
  @Relationship(inverse: "accounts") var owner: Owner?
}

/// The other end of a relationship.
@Entity final class Owner: ManagedObject {
  var name: String
  @Relationship(inverse: "owner") var accounts: ToMany<Account>
}

/// Values that are checked against eight bounds and lengths.
@Entity final class Form: ManagedObject {
  @Attribute(.minimum(0), .maximum(1_000_000)) var quantity: Int64 = 7
  @Attribute(.minimum(0), .maximum(100)) var discount: Double = 5
  @Attribute(.length(1...40)) var title: String = "Delivery"
  @Attribute(.length(0...200)) var remark: String = "To be left at the door, and not before nine."
}

/// Values that are checked against eight rules, one of them a regular expression.
@Entity final class Letter: ManagedObject {
  @Attribute(.minimum(0), .maximum(1_000_000)) var quantity: Int64 = 7
  @Attribute(.length(1...40), .pattern("[A-Z]{2}-[0-9]+")) var code: String = "AB-1234"
  @Attribute(.length(0...200)) var remark: String = "To be left at the door."
  @Attribute(.minimum(1)) var copies: Int64 = 1
}

/// The properties of `Account` in a plain class.
final class PlainAccount {
  var number: Int64
  var balance: Double = 0
  var isOpen: Bool = true
  var code: String
  var note: String = ""
  var opened: Date = Date(timeIntervalSinceReferenceDate: 0)
  var limit: Int64?
  var owner: PlainOwner?

  init(number: Int64, code: String) {
    self.number = number
    self.code = code
  }
}

/// The properties of `Owner` in a plain class.
final class PlainOwner {
  var name: String
  init(name: String) { self.name = name }
}
