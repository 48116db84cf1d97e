import Perdure

// The properties of the classes in ExtensionPropertyTests.swift.

@Composite struct ClubBadge: Equatable { var text: String? }

@EntityProperties extension Patron {
  @Attribute(.unique) var login: String?
  @Attribute(.maximum(10)) var credits: Int16 = 1
  @Attribute(.composite) var seat: ClubBadge?
}

@EntityProperties extension ClubMember {
  var nickname: String?
  @Relationship(inverse: "friend") var friends: ToMany<ClubGuest>
  @Attribute(.transient) var kept: Double?
  @Fetched var patrons: [Patron]

  var shout: String { nickname?.uppercased() ?? "" }
}
