/// The part of an object's identity that all objects of one entity in one store share.
final class EntityIdentity: Sendable {
  let storeIdentifier: String
  let entityName: String
  /// The entity's number in the store; 0 where only the names are known.
  let number: UInt16
  /// A hash of the two names, the same wherever an identity with these names was made.
  let hash: UInt64

  init(storeIdentifier: String, entityName: String, number: UInt16) {
    self.storeIdentifier = storeIdentifier
    self.entityName = entityName
    self.number = number
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in storeIdentifier.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    hash = (hash ^ 0xFF) &* 0x100_0000_01B3
    for byte in entityName.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    self.hash = hash
  }

  /// Whether both name the same entity of the same store.
  func isSame(as other: EntityIdentity) -> Bool {
    self === other
      || (hash == other.hash && storeIdentifier == other.storeIdentifier && entityName == other.entityName)
  }
}
