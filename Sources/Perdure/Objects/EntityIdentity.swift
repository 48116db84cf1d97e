/// The part of an object's identity that all objects of one entity in one store share.
final class EntityIdentity: Sendable {
  let storeIdentifier: String
  let entityName: String
  /// The entity's number in the store; 0 if only the names are known.
  let number: UInt16
  /// A hash of the two names. Identities with the same names have the same hash.
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

  /// Whether both identify the same entity of the same store.
  func isSame(as other: EntityIdentity) -> Bool {
    self === other
      || (hash == other.hash && storeIdentifier == other.storeIdentifier && entityName == other.entityName)
  }
}
