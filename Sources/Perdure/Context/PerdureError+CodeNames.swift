internal import PerdureModel

extension PerdureError.Code: CustomStringConvertible {
  /// The name and the number: `mergeConflict (133020)`. Only the number if the code is unknown.
  public var description: String { numberedCode(Self.names[rawValue], rawValue) }

  private static let names = [
    1550: "validation",
    1560: "multipleValidationErrors",
    1570: "missingMandatoryProperty",
    1580: "relationshipLacksMinimumCount",
    1590: "relationshipExceedsMaximumCount",
    1600: "relationshipDeniedDelete",
    1610: "numberTooLarge",
    1620: "numberTooSmall",
    1630: "dateTooLate",
    1640: "dateTooSoon",
    1660: "stringTooLong",
    1670: "stringTooShort",
    1680: "stringPatternMatching",
    1690: "invalidURI",
    133_000: "objectNotFound",
    133_010: "unknownObjectID or externalRelationship",
    133_020: "mergeConflict",
    133_021: "constraintConflict",
    134_020: "incompatibleSchema",
    134_030: "saveFailed",
    134_040: "incompleteSave",
    134_060: "readFailed",
    134_070: "storeOperation",
    139_000: "endlessChanges",
    139_001: "unknownKey",
    139_002: "invalidJSON",
    139_003: "undoConflict",
    134_080: "openFailed",
    134_100: "incompatibleModel",
  ]
}
